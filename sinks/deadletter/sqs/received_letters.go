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

// reader has the received messages that are invisible to other readers. The handles of the messages are in memory. The
// letters are in a file that is already deleted, so it disappears with the process.
type reader struct {
	stop     context.CancelFunc // stops the goroutine that keeps messages invisible
	renewing sync.WaitGroup

	mu      sync.Mutex
	file    *os.File
	size    int64
	letters []*receivedLetter // in the order of arrival
	byID    map[string]*receivedLetter
	foreign []handle // messages that are not letters of this pipeline
	count   int      // number of received messages, including removed ones
	closed  bool

	alone  atomic.Bool // no other reader has messages
	warned atomic.Bool // the warning about other readers was logged
}

// receivedLetter is a letter that was received. The queue may have several messages with the same letter.
type receivedLetter struct {
	handles []handle
	offset  int64 // offset in the file of the reader
	size    int
	removed bool
}

// handle identifies a message to renew or delete it. SQS gives a new receipt each time that it delivers the message.
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

// addForeign adds a message that is not a letter of this pipeline.
func (r *reader) addForeign(h handle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errReleased
	}
	r.count++
	r.foreign = append(r.foreign, h)
	return nil
}

// addLetter adds a message with the letter of an ID. line is the JSON of the letter.
func (r *reader) addLetter(h handle, id string, line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errReleased
	}
	r.count++
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
		if letter.handles[i].message == h.message { // the renewal came too late, and the message was received again
			letter.handles[i] = h
			r.count-- // it was counted before
			return nil
		}
	}
	letter.handles = append(letter.handles, h)
	return nil
}

// letterAt returns letter i in the order of arrival. ok is false if letter i was not received yet.
func (r *reader) letterAt(i int) (letter receivedLetter, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i >= len(r.letters) {
		return receivedLetter{}, false
	}
	return *r.letters[i], true
}

// readLetter reads the content of a letter from the file.
func (r *reader) readLetter(received receivedLetter) (pipeline.DeadLetter, error) {
	line := make([]byte, received.size)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return pipeline.DeadLetter{}, errReleased
	}
	_, err := r.file.ReadAt(line, received.offset)
	r.mu.Unlock()
	if err != nil {
		return pipeline.DeadLetter{}, pipeline.Transient(fmt.Errorf("deadletter: %w", err))
	}
	letter, _, err := deadletter.Parse(line)
	return letter, err
}

// handlesOf returns the handles of the letters with these IDs. allKnown is false if one of the letters was not received
// yet.
func (r *reader) handlesOf(ids []string) (handles []handle, allKnown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	allKnown = true
	seen := map[*receivedLetter]bool{}
	for _, id := range ids {
		letter := r.byID[id]
		if letter == nil {
			allKnown = false
		} else if !seen[letter] {
			seen[letter] = true
			handles = append(handles, letter.handles...)
		}
	}
	return handles, allKnown
}

// noteDeleted notes that a message was deleted, so that the next Remove skips it.
func (r *reader) noteDeleted(h handle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.letter.handles = slices.DeleteFunc(slices.Clone(h.letter.handles),
		func(o handle) bool { return o.message == h.message })
}

// noteRemoved notes that letters were removed.
func (r *reader) noteRemoved(ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if letter := r.byID[id]; letter != nil {
			letter.removed, letter.handles = true, nil
			delete(r.byID, id)
		}
	}
}

// allHandles returns the handles of all messages that are not deleted.
func (r *reader) allHandles() []handle {
	r.mu.Lock()
	defer r.mu.Unlock()
	handles := slices.Clone(r.foreign)
	for _, letter := range r.letters {
		handles = append(handles, letter.handles...)
	}
	return handles
}

func (r *reader) messageCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// close stops the renewing goroutine, and closes the file.
func (r *reader) close() {
	r.stop()
	r.renewing.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	_ = r.file.Close() // nothing in it is needed any more
}
