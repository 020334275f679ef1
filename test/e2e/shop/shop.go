// Package shop is the source table of tests that fill sinks. It has the items of the table, writes to the table while
// it is read, and exports the table.
package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Item has the attributes of an item that sinks read.
type Item struct {
	PK, Status, Customer, Email, Total string
	Write                              int // number of the write that made this state
}

// JSON returns the item as DynamoDB JSON.
func (i *Item) JSON() string {
	return fmt.Sprintf(`{"PK":{"S":%q},"SK":{"S":"order"},"Status":{"S":%q},"Customer":{"S":%q},"Email":{"S":%q},"Total":{"N":%q},"Write":{"N":"%d"}}`,
		i.PK, i.Status, i.Customer, i.Email, i.Total, i.Write)
}

// KeyJSON returns a key as DynamoDB JSON.
func KeyJSON(pk string) string { return fmt.Sprintf(`{"PK":{"S":%q},"SK":{"S":"order"}}`, pk) }

// PK returns the partition key of item n. Keys are in the order of their numbers.
func PK(n int) string { return fmt.Sprintf("item#%06d", n) }

// Table takes the writes. [streamtest.Table] implements it.
type Table interface {
	Put(item string) (streamtest.Written, error)
	Delete(key string) (streamtest.Written, error)
	Expire(key string) (streamtest.Written, error)
}

// Shop writes to a table, and remembers the items of the table.
type Shop struct {
	table Table
	mails int // number of e-mail addresses

	mu       sync.Mutex // held during each write, so that an export shows one moment
	rand     *rand.Rand
	writes   int
	items    map[string]Item    // by PK
	written  map[string]written // items that were written since the last export, by PK
	exported time.Time          // time of the last export
}

// written has the state of an item at the last export, and the time of its last write.
type written struct {
	old  string // DynamoDB JSON; "": there was no item
	last time.Time
}

// New returns a shop without items. Each of its items gets one of as many e-mail addresses as mails says.
func New(table Table, mails int) *Shop {
	return &Shop{table: table, mails: max(mails, 1), rand: rand.New(rand.NewPCG(3, 3)), items: make(map[string]Item), written: make(map[string]written)}
}

// Fill puts the items 0 to n-1.
func (s *Shop) Fill(n int) error {
	for i := range n {
		if err := s.Put(PK(i)); err != nil {
			return err
		}
	}
	return nil
}

// Write changes random items among the first n, perSecond of them in each second, until ctx ends or most writes are
// made. If a write takes long, the next writes follow at once. One of eight writes deletes an item, half of them like
// time to live. Later writes insert the item again. Write returns the number of writes.
func (s *Shop) Write(ctx context.Context, n, perSecond, most int) (count int, err error) {
	tick := time.NewTicker(max(time.Second/time.Duration(perSecond), 5*time.Millisecond))
	defer tick.Stop()
	for began := time.Now(); count < most; {
		select {
		case <-ctx.Done():
			return count, nil
		case <-tick.C:
		}
		due := min(int(time.Since(began).Seconds()*float64(perSecond)), most)
		for ; count < due && ctx.Err() == nil; count++ {
			if err := s.change(n); err != nil {
				if ctx.Err() != nil {
					err = nil
				}
				return count, err
			}
		}
	}
	return count, nil
}

// change changes a random item among the first n.
func (s *Shop) change(n int) error {
	pk := PK(s.draw(n))
	switch s.draw(16) {
	case 0:
		return s.Remove(pk, true)
	case 1:
		return s.Remove(pk, false)
	}
	return s.Put(pk)
}

func (s *Shop) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rand.IntN(n)
}

// Put writes an item with random attributes.
func (s *Shop) Put(pk string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	it := Item{
		PK: pk, Status: []string{"open", "paid", "shipped"}[s.rand.IntN(3)], Customer: fmt.Sprintf("c%d", s.rand.IntN(40)),
		Email: fmt.Sprintf("m%d@example.com", s.rand.IntN(s.mails)), Total: fmt.Sprintf("%d.%02d", s.rand.IntN(1000), s.rand.IntN(100)), Write: s.writes,
	}
	s.note(pk)
	s.items[pk] = it
	_, err := s.table.Put(it.JSON())
	return err
}

// Remove deletes an item, or lets it expire. It does nothing if there is no such item.
func (s *Shop) Remove(pk string, expire bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.items[pk]; !ok {
		return nil
	}
	s.note(pk)
	delete(s.items, pk)
	remove := s.table.Delete
	if expire {
		remove = s.table.Expire
	}
	_, err := remove(KeyJSON(pk))
	return err
}

// Lose changes or deletes an item without a change in the stream of the table, as if the stream had lost the change.
func (s *Shop) Lose(pk string, remove bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(pk)
	if remove {
		delete(s.items, pk)
		return
	}
	s.writes++
	it := s.items[pk]
	it.PK, it.Status, it.Customer, it.Email, it.Total, it.Write = pk, "lost", "lost", pk+"@example.com", "1", s.writes
	s.items[pk] = it
}

// note notes the state of an item at the last export and the time of its write. The caller holds mu.
func (s *Shop) note(pk string) {
	w, ok := s.written[pk]
	if it, had := s.items[pk]; !ok && had {
		w.old = it.JSON()
	}
	w.last = time.Now()
	s.written[pk] = w
}

// Len returns the number of items.
func (s *Shop) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// Items returns all items, by PK.
func (s *Shop) Items() map[string]Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.items)
}

// Find returns those of the items that exist, as DynamoDB JSON in the order of pks. It stops after limit items. next is
// the index in pks after the last key that it looked at. All items belong to one moment.
func (s *Shop) Find(pks []string, limit int) (items []json.RawMessage, next int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for next < len(pks) && len(items) < limit {
		if it, ok := s.items[pks[next]]; ok {
			items = append(items, json.RawMessage(it.JSON()))
		}
		next++
	}
	return items, next
}

// PartOf returns the part of the table, of n parts, that has the item.
func PartOf(pk string, n int) int {
	h := fnv.New32a()
	h.Write([]byte(pk))
	return int(h.Sum32() % uint32(n)) //nolint:gosec // n is small
}
