package faults

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// link is one connection of a client, and the proxy's own to the server.
type link struct {
	client, server net.Conn
	ended          chan struct{} // closed with the connections
	once           sync.Once
}

// way carries one direction of a link from src to dst. It returns when the link ends, and its return ends the link.
type way func(l *link, dst, src net.Conn)

func newLink(client, server net.Conn) *link {
	return &link{client: client, server: server, ended: make(chan struct{})}
}

// run carries data in both directions until one of them ends.
func (l *link) run(f Fault) {
	var both sync.WaitGroup
	both.Go(func() {
		defer l.end()
		wayOrForward(f.requests)(l, l.server, l.client)
	})
	both.Go(func() {
		defer l.end()
		wayOrForward(f.answers)(l, l.client, l.server)
	})
	both.Wait()
}

// end closes both connections. It may be called more than once.
func (l *link) end() {
	l.once.Do(func() {
		close(l.ended)
		_, _ = l.client.Close(), l.server.Close()
	})
}

// wait waits for d, or until the link ends. It reports whether the link still exists.
func (l *link) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.ended:
		return false
	}
}

func wayOrForward(w way) way {
	if w == nil {
		return forwardAll
	}
	return w
}

func forwardAll(_ *link, dst, src net.Conn) { _, _ = io.Copy(dst, src) }

// delayed delays each piece by a time between least and most.
func delayed(least, most time.Duration) way {
	return func(l *link, dst, src net.Conn) {
		inPieces(dst, src, 32<<10, func(int) bool { return l.wait(least + rand.N(most-least+1)) })
	}
}

// narrow lets rate bytes through in a second.
func narrow(rate int) way {
	return func(l *link, dst, src net.Conn) {
		inPieces(dst, src, 4<<10, func(n int) bool { return l.wait(time.Duration(n) * time.Second / time.Duration(rate)) })
	}
}

// inPieces carries pieces of at most size bytes. before is called once for each piece and reports whether it may go.
func inPieces(dst, src net.Conn, size int, before func(n int) bool) {
	for b := make([]byte, size); ; {
		n, err := src.Read(b)
		if n > 0 {
			if !before(n) {
				return
			}
			if _, err := dst.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// reset resets both connections when the first piece arrives, and does not forward it.
func reset(l *link, _, src net.Conn) {
	if n, _ := src.Read(make([]byte, 1)); n == 0 {
		return
	}
	for _, c := range []net.Conn{l.client, l.server} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
}

// silent reads everything and forwards nothing. It ends the link after a duration. If the duration is 0, it waits until
// the link ends otherwise, even if src has closed.
func silent(d time.Duration) way {
	return func(l *link, _, src net.Conn) {
		if d > 0 {
			defer time.AfterFunc(d, l.end).Stop()
		}
		_, _ = io.Copy(io.Discard, src)
		<-l.ended
	}
}

// closedLate closes the link a duration after src has closed.
func closedLate(d time.Duration) way {
	return func(l *link, dst, src net.Conn) {
		_, _ = io.Copy(dst, src)
		l.wait(d)
	}
}

// limited closes the link after n bytes.
func limited(n int64) way {
	return func(_ *link, dst, src net.Conn) { _, _ = io.CopyN(dst, src, n) }
}
