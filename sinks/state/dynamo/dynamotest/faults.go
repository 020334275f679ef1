package dynamotest

import (
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/tablewake/tablewake/sinks/internal/awstest"
)

// Request is a call that a fault may send, change or refuse.
type Request struct {
	Op   string // TransactWriteItems, PutItem, ...
	Body []byte // JSON

	http *http.Request
	send func(body []byte) (*http.Response, error)
}

// Send sends the call with Body, which a fault may have changed. DynamoDB Local does not check signatures.
func (r *Request) Send() (*http.Response, error) { return r.send(r.Body) }

// Fault is what becomes of a call. It may send it, and may do so more than once.
type Fault func(r *Request) (*http.Response, error)

// Faults decides which calls of its clients get a Fault. The zero Faults sends every call. It is safe for
// concurrent use.
type Faults struct {
	mu     sync.Mutex
	queued map[string][]Fault
	random []Fault
	chance float64
	dice   *rand.Rand
	seen   map[string]int
}

// Next queues faults for the next calls of an operation, one for each call. A nil fault sends its call.
func (f *Faults) Next(op string, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queued == nil {
		f.queued = make(map[string][]Fault)
	}
	f.queued[op] = append(f.queued[op], faults...)
}

// Randomly gives each call one of faults, with a chance between 0 and 1. The same seed
// gives the same sequence, in the order of calls.
func (f *Faults) Randomly(seed uint64, chance float64, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.random, f.chance, f.dice = faults, chance, rand.New(rand.NewPCG(seed, seed))
}

// Calls returns how many calls of an operation were made.
func (f *Faults) Calls(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[op]
}

func (f *Faults) take(op string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = make(map[string]int)
	}
	f.seen[op]++
	if q := f.queued[op]; len(q) > 0 {
		f.queued[op] = q[1:]
		return q[0]
	}
	if len(f.random) > 0 && f.dice.Float64() < f.chance {
		return f.random[f.dice.IntN(len(f.random))]
	}
	return nil
}

// over returns a transport that applies f to calls before next.
func (f *Faults) over(next http.RoundTripper) http.RoundTripper {
	return awstest.Transport(next, func(op string, r *http.Request, body []byte, send func(body []byte) (*http.Response, error)) (*http.Response, error) {
		call := &Request{Op: op, Body: body, http: r, send: send}
		if fault := f.take(op); fault != nil {
			return fault(call)
		}
		return call.Send()
	})
}

// Client returns an HTTP client that applies f. If next answers by itself, a test
// needs no socket.
func (f *Faults) Client(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: f.over(next)}
}
