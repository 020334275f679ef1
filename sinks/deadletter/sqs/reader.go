package sqs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// reader is what was received and is kept from others: the handles in memory, the
// letters in a file without a name, which goes with the process.
type reader struct {
	stop     context.CancelFunc // ends renewing
	renewing sync.WaitGroup

	mu      sync.Mutex
	file    *os.File
	size    int64
	letters []*held // in the order in which they came
	byID    map[string]*held
	foreign []handle // messages that are no letters of the pipeline
	n       int      // messages received, removed or not
	alone   bool     // nobody else was reading
	told    bool     // that it waits for others
	closed  bool
}

// held is a letter. It may be in the queue several times.
type held struct {
	handles []handle
	at      int64 // in the file
	size    int
	removed bool
}

// handle is what a message is renewed and deleted by: the receipt of when it was last received.
type handle struct {
	message, receipt string
	of               *held // nil of a foreign message
}

var errReleased = pipeline.Transient(errs.New("deadletter: what was read was released meanwhile: read again"))

func newReader() (*reader, error) {
	file, err := os.CreateTemp("", "tablewake-letters-")
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("deadletter: %w", err)
	}
	return &reader{file: file, byID: map[string]*held{}}, nil
}

// take takes a message in; ours is false for one that is no letter of the pipeline.
func (r *reader) take(h handle, id string, line []byte, ours bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errReleased
	}
	r.n++
	if !ours {
		r.foreign = append(r.foreign, h)
		return nil
	}
	of := r.byID[id]
	if of == nil {
		if _, err := r.file.WriteAt(line, r.size); err != nil {
			return pipeline.Transient(fmt.Errorf("deadletter: %w", err))
		}
		of = &held{at: r.size, size: len(line)}
		r.size += int64(len(line))
		r.letters, r.byID[id] = append(r.letters, of), of
	}
	h.of = of
	for i := range of.handles {
		if of.handles[i].message == h.message {
			of.handles[i] = h // it was not renewed in time, and came again
			r.n--
			return nil
		}
	}
	of.handles = append(of.handles, h)
	return nil
}

// at is the i-th letter that was received; false where there is none yet.
func (r *reader) at(i int) (held, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i >= len(r.letters) {
		return held{}, false
	}
	return *r.letters[i], true
}

// letter reads a letter.
func (r *reader) letter(h held) (pipeline.DeadLetter, error) {
	line := make([]byte, h.size)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return pipeline.DeadLetter{}, errReleased
	}
	_, err := r.file.ReadAt(line, h.at)
	r.mu.Unlock()
	if err != nil {
		return pipeline.DeadLetter{}, pipeline.Transient(fmt.Errorf("deadletter: %w", err))
	}
	l, _, err := deadletter.Parse(line)
	return l, err
}

// of is the handles of letters by their IDs; known is false where one of them was
// not received.
func (r *reader) of(ids []string) (handles []handle, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known = true
	seen := map[*held]bool{}
	for _, id := range ids {
		h := r.byID[id]
		if h == nil {
			known = false
		} else if !seen[h] {
			seen[h] = true
			handles = append(handles, h.handles...)
		}
	}
	return handles, known
}

// deleted notes that a message is: an attempt that follows leaves it out.
func (r *reader) deleted(h handle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.of.handles = slices.DeleteFunc(slices.Clone(h.of.handles), func(o handle) bool { return o.message == h.message })
}

// remove notes that letters are deleted.
func (r *reader) remove(ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if h := r.byID[id]; h != nil {
			h.removed, h.handles = true, nil
			delete(r.byID, id)
		}
	}
}

// all is the handles of all that is held.
func (r *reader) all() []handle {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append([]handle(nil), r.foreign...)
	for _, h := range r.letters {
		all = append(all, h.handles...)
	}
	return all
}

func (r *reader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

func (r *reader) isAlone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alone
}

// tellOnce says once that it waits.
func (r *reader) tellOnce(tell func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.told {
		r.told = true
		tell()
	}
}

func (r *reader) setAlone() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alone = true
}

// close ends renewing, and lets the file go.
func (r *reader) close() {
	r.stop()
	r.renewing.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	_ = r.file.Close() // nothing in it is needed any more
}
