package faults

import (
	"context"
	"net"
	"sync"
)

// listener links each client that connects with the server. All of its links have the same fault.
type listener struct {
	listen   net.Listener
	upstream string // HOST:PORT
	fault    Fault

	ctx   context.Context // stop cancels it, and with it the links
	stops context.CancelFunc
	runs  sync.WaitGroup
}

func listen(l net.Listener, upstream string, f Fault) *listener {
	s := &listener{listen: l, upstream: upstream, fault: f}
	s.ctx, s.stops = context.WithCancel(context.Background())
	s.runs.Go(s.accept)
	return s
}

// stop breaks the links and returns after all of their goroutines have ended.
func (s *listener) stop() {
	s.stops()
	_ = s.listen.Close()
	s.runs.Wait()
}

func (s *listener) accept() {
	for {
		client, err := s.listen.Accept()
		if err != nil {
			return
		}
		s.runs.Go(func() { s.link(client) })
	}
}

func (s *listener) link(client net.Conn) {
	defer closeConn(client)
	server, err := new(net.Dialer).DialContext(s.ctx, "tcp", s.upstream)
	if err != nil {
		return // the server refuses the connection
	}
	l := newLink(client, server)
	defer context.AfterFunc(s.ctx, l.end)()
	l.run(s.fault)
}
