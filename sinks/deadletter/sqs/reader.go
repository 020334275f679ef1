package sqs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// reader has the received messages that are invisible to others: handles in memory, letters in a deleted file that
// vanishes with the process.
type reader struct {
	stop     context.CancelFunc // stops renewing
	renewing sync.WaitGroup

	mu      sync.Mutex
	file    *os.File
	size    int64
	letters []*receivedLetter // in the order of arrival
	byID    map[string]*receivedLetter
	foreign []handle // messages that are not letters of this pipeline
	n       int      // number of received messages, including removed ones
	closed  bool

	alone  atomic.Bool // no other reader has messages
	warned atomic.Bool // the log has a warning about other readers
}

// receivedLetter is a letter. The queue may have several messages of it.
type receivedLetter struct {
	handles []handle
	offset  int64 // in the file
	size    int
	removed bool
}

// handle renews or deletes a message. The receipt is that of the last time it was received.
type handle struct {
	message, receipt string
	letter           *receivedLetter // nil for a foreign message
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
	return &reader{file: file, byID: map[string]*receivedLetter{}}, nil
}

// add adds a message. ours is false if it is not a letter of this pipeline.
func (r *reader) add(h handle, id string, line []byte, ours bool) error {
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
	letter := r.byID[id]
	if letter == nil {
		if _, err := r.file.WriteAt(line, r.size); err != nil {
			return pipeline.Transient(fmt.Errorf("deadletter: %w", err))
		}
		letter = &receivedLetter{offset: r.size, size: len(line)}
		r.size += int64(len(line))
		r.letters, r.byID[id] = append(r.letters, letter), letter
	}
	h.letter = letter
	for i := range letter.handles {
		if letter.handles[i].message == h.message {
			letter.handles[i] = h // the renewal was late, and the message was received again
			r.n--
			return nil
		}
	}
	letter.handles = append(letter.handles, h)
	return nil
}

// letterAt returns letter i in the order of arrival; false if there is none yet.
func (r *reader) letterAt(i int) (receivedLetter, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i >= len(r.letters) {
		return receivedLetter{}, false
	}
	return *r.letters[i], true
}

// letterOf returns the content of a letter.
func (r *reader) letterOf(h receivedLetter) (pipeline.DeadLetter, error) {
	line := make([]byte, h.size)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return pipeline.DeadLetter{}, errReleased
	}
	_, err := r.file.ReadAt(line, h.offset)
	r.mu.Unlock()
	if err != nil {
		return pipeline.DeadLetter{}, pipeline.Transient(fmt.Errorf("deadletter: %w", err))
	}
	l, _, err := deadletter.Parse(line)
	return l, err
}

// handlesOf returns the handles of letters by ID. known is false if a letter was not received yet.
func (r *reader) handlesOf(ids []string) (handles []handle, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known = true
	seen := map[*receivedLetter]bool{}
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

// deleted notes that a message is deleted, so that the next attempt skips it.
func (r *reader) deleted(h handle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.letter.handles = slices.DeleteFunc(slices.Clone(h.letter.handles),
		func(o handle) bool { return o.message == h.message })
}

// remove notes that letters are removed.
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

// all returns the handles of all messages.
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

// close stops renewing and closes the file.
func (r *reader) close() {
	r.stop()
	r.renewing.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	_ = r.file.Close() // nothing in it is needed any more
}
