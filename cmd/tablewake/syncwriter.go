package main

import (
	"io"
	"sync"
)

// syncWriter lets several goroutines write, one line or more at a time.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes all of it, or fails.
func (s *syncWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}
