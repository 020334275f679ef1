package dynamotest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// Request is a call that a fault may send, change or refuse.
type Request struct {
	Op   string // TransactWriteItems, PutItem, ...
	Body []byte // JSON

	http *http.Request
	next http.RoundTripper
}

// Send sends the call with Body, which a fault may have changed. DynamoDB Local does not check signatures.
func (r *Request) Send() (*http.Response, error) {
	req := r.http.Clone(r.http.Context())
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(r.Body)), int64(len(r.Body))
	return r.next.RoundTrip(req)
}

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
func (f *Faults) over(next http.RoundTripper) http.RoundTripper { return &transport{f, next} }

// Client returns an HTTP client that applies f. If next answers by itself, a test
// needs no socket.
func (f *Faults) Client(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: f.over(next)}
}

type transport struct {
	faults *Faults
	next   http.RoundTripper
}

// RoundTrip reads the request's body before anything else, as a RoundTripper must close it.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		if closed := req.Body.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, err
		}
	}
	_, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	r := &Request{Op: op, Body: body, http: req, next: t.next}
	if fault := t.faults.take(op); fault != nil {
		return fault(r)
	}
	return r.Send()
}
