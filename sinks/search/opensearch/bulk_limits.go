package opensearch

import "sync"

// limits holds the limits of bulk requests. They adapt to the server's answers.
type limits struct {
	count int // documents

	mu sync.Mutex
	// bytes is the maximum size of a request. It decreases when the server finds a request too large, and never grows
	bytes int
	// window is the maximum size of a request to a busy server, in bytes. It decreases with each refusal, and grows
	// with each accepted request
	window int
}

// minWindow is the smallest value of limits.window, in bytes.
const minWindow = 4 << 10

// maxBytes returns how many bytes a request may have now.
func (l *limits) maxBytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(l.bytes, l.window)
}

// noteTooLarge notes that the server refused a request of n bytes as too large.
func (l *limits) noteTooLarge(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes = max(1, min(l.bytes, n/2))
}

// noteBusy notes that the server was too busy for a request of n bytes.
func (l *limits) noteBusy(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window = max(minWindow, min(l.window, n/2))
}

// noteAccepted notes that the server accepted a request.
func (l *limits) noteAccepted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window = min(l.bytes, l.window+l.window/8)
}
