// Package openstores keeps the open stores of a pipeline, so that its sinks share them.
package openstores

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Stores are the open stores. They are safe for concurrent use.
type Stores struct {
	owner string // name of the package that opens the stores, for errors

	mu     sync.Mutex
	byName map[string]any
	close  []func() error // functions that Close calls, the last one first
}

// New returns a Stores without open stores. owner is the name of the package that opens them, for errors. After
// [Stores.Close] has closed the stores, it calls the functions afterClose, the last one first.
func New(owner string, afterClose ...func() error) *Stores {
	return &Stores{owner: owner, byName: make(map[string]any), close: afterClose}
}

// Open returns the store with this name. If the store is not open yet, Open calls open. It returns an error if the
// store has another type than T, or if the Stores are closed.
func Open[T any](s *Stores, name string, open func() (T, error)) (T, error) {
	var none T
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		return none, fmt.Errorf("%s: the stores are closed", s.owner)
	}
	if existing, isOpen := s.byName[name]; isOpen {
		store, ok := existing.(T)
		if !ok {
			return none, fmt.Errorf("%s: %s is open as a %T", s.owner, name, existing)
		}
		return store, nil
	}
	store, err := open()
	if err != nil {
		return none, err
	}
	s.byName[name] = store
	if closer, ok := any(store).(io.Closer); ok {
		s.close = append(s.close, closer.Close)
	}
	return store, nil
}

// Close closes the stores, the last opened first. A second call does nothing.
func (s *Stores) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, closeStore := range slices.Backward(s.close) {
		errs = append(errs, closeStore())
	}
	s.close, s.byName = nil, nil
	return errors.Join(errs...)
}
