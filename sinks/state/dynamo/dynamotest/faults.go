package dynamotest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// Request is a call on its way.
type Request struct {
	Op   string // TransactWriteItems, PutItem, ...
	Body []byte // JSON

	http *http.Request
	next http.RoundTripper
}

// Send has the server answer the call, with another body where Body was changed:
// DynamoDB Local does not check signatures.
func (r *Request) Send() (*http.Response, error) {
	req := r.http.Clone(r.http.Context())
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(r.Body)), int64(len(r.Body))
	return r.next.RoundTrip(req)
}

// Fault is what becomes of a call. It may send it, and may do so more than once.
type Fault func(r *Request) (*http.Response, error)

// Faults is what becomes of the calls of one client, or of several. Without any it
// lets everything through. It is safe for concurrent use.
type Faults struct {
	mu     sync.Mutex
	queued map[string][]Fault
	random []Fault
	chance float64
	dice   *rand.Rand
	seen   map[string]int
}

// Next gives the next calls of an operation these faults, one each, behind those that
// are queued; a nil one lets its call through.
func (f *Faults) Next(op string, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queued == nil {
		f.queued = make(map[string][]Fault)
	}
	f.queued[op] = append(f.queued[op], faults...)
}

// Randomly gives every call, with a chance between 0 and 1, one of faults. The same seed
// gives the same sequence, in the order of calls.
func (f *Faults) Randomly(seed uint64, chance float64, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.random, f.chance, f.dice = faults, chance, rand.New(rand.NewPCG(seed, seed))
}

// Calls is how many calls of an operation were made.
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

// over is f between a client and what answers it.
func (f *Faults) over(next http.RoundTripper) http.RoundTripper { return &transport{f, next} }

// Client is an HTTP client whose calls suffer f before next answers them: with a next
// that is no server a test needs no socket.
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
