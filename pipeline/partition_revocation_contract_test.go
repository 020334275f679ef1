package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// revocation revokes or drains a partition at some time.
type revocation struct {
	after time.Duration // since the previous revocation
	of    string
	drain bool          // drain only, do not revoke
	first time.Duration // time between a soft revoke and the revoke; 0: no soft revoke
}

// revokedSource reads the plan's pages and revokes partitions meanwhile. The next incarnation of a revoked partition
// reads again all pages that were not committed.
type revokedSource struct {
	*witness
	plain       Source
	plan        plan
	revoking    sync.WaitGroup
	done        chan struct{} // closed when all are revoked
	incarnation map[string]int
	read        map[string][]*Page // pages by partition
	again       []*Page
	gone        []string // partitions that were revoked since the last call of Read
	control     Control
}

var _ Controlled = (*revokedSource)(nil)

func (s *revokedSource) Control(c Control) {
	if c == nil {
		s.revoking.Wait()
		return
	}
	s.done, s.control, s.read = make(chan struct{}), c, map[string][]*Page{}
	s.revoking.Go(func() {
		defer close(s.done)
		for _, r := range s.plan.revokes {
			time.Sleep(r.after)
			s.mu.Lock()
			name := s.named(r.of)
			if r.drain {
				s.mu.Unlock()
				c.Drain(name)
				continue
			}
			s.mu.Unlock()
			if r.first > 0 {
				c.RevokeSoft(name, "somebody")
				time.Sleep(r.first)
			}
			c.Revoke(errors.New("read by another"), name, "nobody")
			c.Revoke(errors.New("twice"), name)
			s.mu.Lock()
			s.late[name] = false
			s.gone = append(s.gone, name, "nobody")
			from := s.committed(r.of)
			s.incarnation[r.of]++
			s.again = slices.DeleteFunc(s.again, func(p *Page) bool { return p.Partition == r.of })
			s.again = append(s.again, s.read[r.of][from:]...)
			s.commit[s.named(r.of)] = from
			s.mu.Unlock()
		}
	})
}

func (s *revokedSource) named(of string) string {
	if n := s.incarnation[of]; n > 0 {
		return fmt.Sprint(of, "~", n)
	}
	return of
}

// committed returns the newest position that any incarnation of a partition committed.
func (s *revokedSource) committed(of string) int {
	at := s.commit[of]
	for n := range s.incarnation[of] {
		at = max(at, s.commit[fmt.Sprint(of, "~", n+1)])
	}
	return at
}

func (s *revokedSource) Read(ctx context.Context) (*Page, error) {
	s.mu.Lock()
	gone := s.gone
	s.gone = nil
	s.mu.Unlock()
	s.control.Forget(gone...)
	for {
		s.mu.Lock()
		if len(s.again) > 0 {
			page := *s.again[0]
			s.again = s.again[1:]
			page.Partition = s.named(page.Partition)
			s.mu.Unlock()
			return &page, nil
		}
		s.mu.Unlock()
		page, err := s.plain.Read(ctx)
		if page != nil {
			s.mu.Lock()
			s.read[page.Partition] = append(s.read[page.Partition], page)
			s.again = append(s.again, page) // after the pages that are read again
			s.mu.Unlock()
			continue
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		select {
		case <-s.done:
			s.mu.Lock()
			n := len(s.again)
			s.mu.Unlock()
			if n == 0 {
				return nil, io.EOF
			}
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// finalRevoked checks a sink whose partitions were revoked: each change that was read is durable, written by the first
// or by a later incarnation.
func (w *witness) finalRevoked(s *witnessSink, k SinkLedger, stopped bool) {
	if stopped {
		return
	}
	if k.Pending != 0 {
		w.errorf("%s: %d pending at the end", s.name, k.Pending)
	}
	for base, pages := range w.pages {
		for _, page := range pages {
			for _, id := range page {
				n, _ := strconv.Atoi(id[2:])
				c := change(id[:2], n)
				if s.wants(&c) && s.durable[id] == 0 {
					w.errorf("%s: %s of partition %s is lost", s.name, id, base)
				}
			}
		}
	}
}
