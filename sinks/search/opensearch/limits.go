package opensearch

import "sync"

// limits bound a bulk request.
type limits struct {
	count int // documents

	mu     sync.Mutex
	bytes  int // what the server took so far: only ever less
	window int // what it has time for: less after each request that it was too busy for, growing again
}

// minWindow is the least that a busy server is sent, if it is one document.
const minWindow = 4 << 10

// now is how many bytes a request may have now.
func (l *limits) now() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(l.bytes, l.window)
}

// tooLarge learns that the server does not take a request of n bytes.
func (l *limits) tooLarge(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes = max(1, min(l.bytes, n/2))
}

// busy learns that the server had no room for a request of n bytes.
func (l *limits) busy(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window = max(minWindow, min(l.window, n/2))
}

// taken learns that the server took a request.
func (l *limits) taken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window = min(l.bytes, l.window+l.window/8)
}
