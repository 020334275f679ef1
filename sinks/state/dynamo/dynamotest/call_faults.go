package dynamotest

import (
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/tablewake/tablewake/sinks/internal/awstest"
)

// Request is a call that a [Fault] may change, send or refuse.
type Request struct {
	Op   string // TransactWriteItems, PutItem, ...
	Body []byte // JSON

	http *http.Request
	send func(body []byte) (*http.Response, error)
}

// Send sends the call with Body, which a fault may have changed. DynamoDB Local does not check signatures.
func (r *Request) Send() (*http.Response, error) { return r.send(r.Body) }

// Fault answers a call. It may send the call any number of times.
type Fault func(r *Request) (*http.Response, error)

// Faults decides which calls of its clients get a Fault. The zero Faults sends every call without a fault. Faults is
// safe for concurrent use.
type Faults struct {
	mu     sync.Mutex
	queued map[string][]Fault
	random []Fault
	chance float64
	dice   *rand.Rand
	calls  map[string]int // number of calls by operation
}

// Next queues faults for the next calls of an operation, one fault for each call. If the fault is nil, the call is
// sent.
func (f *Faults) Next(op string, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queued == nil {
		f.queued = make(map[string][]Fault)
	}
	f.queued[op] = append(f.queued[op], faults...)
}

// Randomly gives a call one of faults with a probability of chance, which is between 0 and 1. The same seed results in
// the same sequence of faults.
func (f *Faults) Randomly(seed uint64, chance float64, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.random, f.chance, f.dice = faults, chance, rand.New(rand.NewPCG(seed, seed))
}

// Calls returns how many calls of an operation were made.
func (f *Faults) Calls(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// take counts a call, and returns its fault, or nil if it has none.
func (f *Faults) take(op string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[string]int)
	}
	f.calls[op]++
	if q := f.queued[op]; len(q) > 0 {
		f.queued[op] = q[1:]
		return q[0]
	}
	if len(f.random) > 0 && f.dice.Float64() < f.chance {
		return f.random[f.dice.IntN(len(f.random))]
	}
	return nil
}

// transport returns a transport that applies f to each call, and sends calls with next.
func (f *Faults) transport(next http.RoundTripper) http.RoundTripper {
	return awstest.Transport(next, func(op string, r *http.Request, body []byte,
		send func(body []byte) (*http.Response, error)) (*http.Response, error) {
		call := &Request{Op: op, Body: body, http: r, send: send}
		if fault := f.take(op); fault != nil {
			return fault(call)
		}
		return call.Send()
	})
}

// Client returns an HTTP client that applies f to each call, and sends calls with next. If next answers calls itself, a
// test needs no server.
func (f *Faults) Client(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: f.transport(next)}
}
