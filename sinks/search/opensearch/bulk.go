package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
)

// Apply writes mutations as search.Store says, in one bulk request or in several
// that follow one another. Of several mutations of a document the newest is sent. A
// request that the server does not take whole is cut in halves until the document
// that it does not take stands alone. A document that does not fit the index's fields is sent
// once more, alone: concurrent requests may have made a field at once, each of its own type.
func (s *Store) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	coalesced := search.Coalesce(ms)
	b := &bulk{store: s, ms: ms, rs: make([]search.Result, len(ms))}
	if err := b.rounds(ctx, coalesced.Newest); err != nil {
		return nil, err
	}
	b.last = true
	for _, i := range b.unfit {
		if err := b.rounds(ctx, []int{i}); err != nil {
			return nil, err
		}
	}
	coalesced.Share(ms, b.rs)
	return b.rs, nil
}

// bulk is one Apply.
type bulk struct {
	store *Store
	ms    []search.Mutation
	rs    []search.Result
	unfit []int // those that do not fit the index's fields, at the first try
	last  bool  // they are tried for the last time

	stop error // the server cannot continue: what was not sent yet is not
}

// maxRounds is how often a document is sent that another writer got ahead of each
// time, or whose index or script was just deleted: the runner then waits before it
// sends it again.
const maxRounds = 5

// rounds sends the mutations left until nothing may be sent again at once.
func (b *bulk) rounds(ctx context.Context, left []int) error {
	for round := 0; len(left) > 0 && round < maxRounds; round++ {
		if b.store.mode == Exact {
			if err := b.store.ensureScript(ctx); err != nil {
				return err
			}
		}
		left = b.send(ctx, b.resolve(ctx, left))
	}
	return nil
}

// resolve ensures the indexes of the mutations at, and returns those that can be sent. The
// others get their errors.
func (b *bulk) resolve(ctx context.Context, at []int) []int {
	failed := make(map[string]error) // by index
	left := at[:0:0]
	for _, i := range at {
		m := &b.ms[i]
		err, known := failed[m.Index]
		if !known {
			if err = search.CheckIndex(m.Index); err == nil {
				err = b.store.ensureIndex(ctx, m.Index)
			}
			failed[m.Index] = err
		}
		if err == nil {
			err = b.store.checkMutation(m)
		}
		if b.rs[i].Err = err; err == nil {
			left = append(left, i)
		}
	}
	return left
}

// send sends the mutations at, in as many requests as the limits ask for, and returns
// those that may be sent again at once.
func (b *bulk) send(ctx context.Context, at []int) (again []int) {
	for parts := [][]int{at}; len(parts) > 0; { // the next one is the last
		part := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		if len(part) == 0 {
			continue
		}
		if b.stop != nil {
			b.fail(part, b.stop)
			continue
		}
		r := b.encode(part)
		sent, half := part[:r.count], r.count/2
		retry, divide := b.perform(ctx, r, sent)
		again = append(again, retry...)
		parts = append(parts, part[r.count:])
		if divide {
			parts = append(parts, sent[half:], sent[:half])
		}
	}
	if b.stop != nil {
		return nil
	}
	return again
}

// fail fails the mutations at, and with them what was not sent yet.
func (b *bulk) fail(at []int, err error) {
	b.stop = err
	for _, i := range at {
		b.rs[i].Err = err
	}
}

// common is the index of all mutations at; "" where there are several.
func (b *bulk) common(at []int) string {
	for _, i := range at {
		if b.ms[i].Index != b.ms[at[0]].Index {
			return ""
		}
	}
	return b.ms[at[0]].Index
}

// within is a path of an index; of the server where the index is "".
func within(index, path string) string {
	if index == "" {
		return path
	}
	return "/" + url.PathEscape(index) + path
}

// bulkPath asks for what is needed of the answer alone.
const bulkPath = "/_bulk?filter_path=items.*.status,items.*.result,items.*.error"

const opWrite = "write a document"

// perform sends the mutations at as r, sets their results, and returns those that may be
// sent again at once. It is true if the halves of r are to be sent instead.
func (b *bulk) perform(ctx context.Context, r bulkRequest, at []int) (again []int, divide bool) {
	s := b.store
	a, err := s.client.bulk(ctx, within(r.index, s.bulkPath), r.body)
	if err != nil {
		b.fail(at, err)
		return nil, false
	}
	if a.ok() {
		s.limits.taken()
		return b.items(ctx, at, a.body), false
	}
	f := a.parse()
	switch class := f.class(); {
	case class == tooLarge || class == refused && a.status == http.StatusBadRequest:
		if len(at) == 1 {
			b.judge(at[0], &bulkItem{failure: f}, len(r.body))
			return nil, false
		}
		if class == tooLarge {
			s.limits.tooLarge(len(r.body))
		}
		return nil, true
	case class == refused, class == gone: // not by an OpenSearch server: it has another answer to every bulk request
		err = &Error{Op: opWrite, Status: a.status, Type: string(f.kind), Hint: "is url the address of an OpenSearch server?"}
		if class == gone && f.kind == nil {
			err = pipeline.Transient(err)
		} else {
			err = pipeline.Fatal(err)
		}
	default:
		if class == busy {
			s.limits.busy(len(r.body))
		}
		err = a.failure(opWrite, "")
	}
	b.fail(at, err)
	return nil, false
}

// items sets the results of the mutations at by the server's answer, and returns those
// that may be sent again at once.
func (b *bulk) items(ctx context.Context, at []int, body []byte) (again []int) {
	var kept []int
	ok := parseItems(body, len(at), func(n int, it *bulkItem) {
		switch i := at[n]; b.judge(i, it, 0) {
		case settled:
		case storedKept:
			kept = append(kept, i)
		case sendAgain:
			again = append(again, i)
		case sendAlone:
			b.unfit = append(b.unfit, i)
		}
	})
	if !ok {
		b.fail(at, errShort)
		return nil
	}
	b.readStoredVersions(ctx, kept)
	return again
}

// verdict is what the answer about a document makes the store do.
type verdict uint8

const (
	settled    verdict = iota // nothing: its result is set
	storedKept                // ask for the stored version: the script left the document as it is
	sendAgain                 // send it again at once: it lost a race, or its index or script is gone
	sendAlone                 // send it once more, alone
)

// judge sets the result of a mutation by the server's answer about it. size is the length of its
// request if the server refused that as a whole; 0: it did not.
func (b *bulk) judge(i int, it *bulkItem, size int) verdict {
	m, r := &b.ms[i], &b.rs[i]
	*r = search.Result{}
	switch {
	case it.status/100 == 2 && it.noop:
		return storedKept
	case it.status/100 == 2:
		return settled
	case it.status == http.StatusConflict && b.store.mode == Fast:
		r.Outcome = pipeline.Superseded
		return settled
	}
	r.Err = it.err(opWrite, m.Index)
	e, _ := errors.AsType[*Error](r.Err)
	switch class := it.class(); {
	case class == outrun:
		return sendAgain
	case class == noScript:
		b.store.installed.forget()
		return sendAgain
	case class == noIndex && b.store.indexes != nil:
		b.store.indexes.forget(m.Index)
		r.Err = pipeline.Transient(r.Err) // it is looked for again
		return sendAgain
	case class == tooLarge && size > 0:
		e.Hint = fmt.Sprintf("the document has %d bytes, its request %d: %s", len(m.Doc), size, e.Hint)
	case size > 0 || !it.unfit():
	case !b.last:
		return sendAlone
	default:
		b.store.explain(e, &it.failure, m.Doc)
	}
	return settled
}
