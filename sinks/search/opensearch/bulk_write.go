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

// write sends the mutations at, in as many requests as the limits ask for, and
// returns those that may be sent again at once.
func (b *bulk) write(ctx context.Context, at []int) (again []int) {
	for len(at) > 0 && b.stop == nil {
		r := b.encode(at)
		at = at[len(r.at):]
		again = append(again, b.send(ctx, r)...)
		b.store.release(r)
	}
	for _, i := range at {
		b.rs[i].Err = b.stop
	}
	if b.stop != nil {
		return nil
	}
	return again
}

// request is a bulk request, or a part of one.
type request struct {
	at    []int  // its mutations
	index string // of all of them: it is in the path, where a policy sees it, and in no line. "": lines name theirs
	ends  []int  // of each of them in body
	body  []byte
	start int        // of the first in body
	sent  []*payload // of the whole
}

// encode makes a request of as many of the mutations at as the limits allow, and of
// one at least.
func (b *bulk) encode(at []int) *request {
	most := b.store.limits.now()
	r := &request{body: b.store.buffers.get(), index: common(at, func(i int) string { return b.index[i] })}
	for _, i := range at[:min(len(at), b.store.limits.count)] {
		end := len(r.body)
		index := ""
		if r.index == "" {
			index = b.index[i]
		}
		if b.store.mode == Fast {
			r.body = b.store.appendFast(r.body, index, &b.ms[i])
		} else {
			r.body = b.store.appendExact(r.body, index, &b.ms[i])
		}
		if len(r.body) > most && len(r.ends) > 0 {
			r.body = r.body[:end]
			break
		}
		r.ends = append(r.ends, len(r.body))
	}
	r.at = at[:len(r.ends)]
	return r
}

// release gives the body back for the next request, if nobody reads it any more.
func (s *Store) release(r *request) {
	for _, p := range r.sent {
		if !p.free() {
			return
		}
	}
	s.buffers.put(r.body)
}

// bytes are those of r.
func (r *request) bytes() []byte { return r.body[r.start:r.ends[len(r.ends)-1]] }

// halves are r in two, of which r keeps the account of what was sent.
func (r *request) halves() (first, second *request) {
	n := len(r.at) / 2
	return &request{at: r.at[:n], index: r.index, ends: r.ends[:n], body: r.body, start: r.start},
		&request{at: r.at[n:], index: r.index, ends: r.ends[n:], body: r.body, start: r.ends[n-1]}
}

// common is the index of all mutations at; "" where there are several.
func common(at []int, index func(i int) string) string {
	if len(at) == 0 {
		return ""
	}
	one := index(at[0])
	for _, i := range at[1:] {
		if index(i) != one {
			return ""
		}
	}
	return one
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

// send sends r, sets the results of its mutations, and returns those that may be sent
// again at once.
func (b *bulk) send(ctx context.Context, r *request) (again []int) {
	s := b.store
	p := &payload{bytes: r.bytes()}
	r.sent = append(r.sent, p)
	got := s.buffers.get()
	a, err := s.client.send(ctx, http.MethodPost, within(r.index, s.bulkPath), "application/x-ndjson", p, got)
	defer func() { s.buffers.put(a.body) }()
	switch {
	case err != nil:
		b.fail(r, err)
		return nil
	case a.ok():
		s.limits.taken()
		return b.items(ctx, r, a.body)
	}
	f := parseFailure(a.body)
	f.status = a.status
	switch class := f.class(); {
	case class == tooLarge || class == refused && a.status == http.StatusBadRequest:
		if class == tooLarge && len(r.at) > 1 {
			s.limits.tooLarge(len(p.bytes))
		}
		if len(r.at) > 1 {
			return b.divide(ctx, r)
		}
		b.rs[r.at[0]].Err = b.alone(r, &f)
	case class == busy:
		s.limits.busy(len(p.bytes))
		b.fail(r, a.failure(opWrite, ""))
	case class == refused, class == gone: // not by an OpenSearch server: it has another answer to every bulk request
		e := &Error{Op: opWrite, Status: a.status, Type: string(f.kind), Hint: "is url the address of an OpenSearch server?"}
		if f.class() == gone && f.kind == nil {
			b.fail(r, pipeline.Transient(e))
			return nil
		}
		b.fail(r, pipeline.Fatal(e))
	default:
		b.fail(r, a.failure(opWrite, ""))
	}
	return nil
}

// divide sends the halves of r, one after the other.
func (b *bulk) divide(ctx context.Context, r *request) (again []int) {
	first, second := r.halves()
	for _, half := range []*request{first, second} {
		if b.stop == nil {
			again = append(again, b.send(ctx, half)...)
			r.sent = append(r.sent, half.sent...)
			continue
		}
		for _, i := range half.at {
			b.rs[i].Err = b.stop
		}
	}
	return again
}

// alone is the error of a document that the server does not take by itself.
func (b *bulk) alone(r *request, f *failure) error {
	i := r.at[0]
	err := f.err(opWrite, b.ms[i].Index)
	if e, ok := errors.AsType[*Error](err); ok && f.class() == tooLarge {
		e.Hint = fmt.Sprintf("the document has %d bytes, its request %d: %s", len(b.ms[i].Doc), len(r.bytes()), e.Hint)
	}
	return err
}

// fail fails all of r, and with it what was not sent yet.
func (b *bulk) fail(r *request, err error) {
	b.stop = err
	for _, i := range r.at {
		b.rs[i].Err = err
	}
}

// items sets the results of r by the server's answer, and returns those that may be
// sent again at once: those that lost a race, and those whose index or script is gone. It
// notes those that do not fit the index's fields.
func (b *bulk) items(ctx context.Context, r *request, body []byte) (again []int) {
	var left []int // by the script: what is there is newer, or the same
	ok := parseItems(body, len(r.at), func(n int, it *item) {
		i := r.at[n]
		b.rs[i] = search.Result{}
		switch {
		case it.status/100 == 2:
			if it.noop {
				left = append(left, i)
			}
			return
		case it.status == http.StatusConflict && b.store.mode == Fast:
			b.rs[i].Outcome = pipeline.Superseded
			return
		}
		b.rs[i].Err = it.err(opWrite, b.ms[i].Index)
		switch it.class() {
		case outrun:
		case noScript:
			b.store.scriptGone()
		case noIndex:
			if !b.store.indexGone(b.ms[i].Index) {
				return
			}
			b.rs[i].Err = pipeline.Transient(b.rs[i].Err) // it is made again
		default:
			switch e, ok := errors.AsType[*Error](b.rs[i].Err); {
			case !it.unfit():
			case !b.last:
				b.unfit = append(b.unfit, i)
			case ok:
				b.store.explain(e, &it.failure, b.ms[i].Doc)
			}
			return
		}
		again = append(again, i)
	})
	if !ok {
		b.fail(r, errShort)
		return nil
	}
	b.tell(ctx, left)
	return again
}
