package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
)

// Apply writes mutations as search.Store defines, in one bulk request or several in sequence. It sends the newest
// mutation of each document. If the server refuses a whole request, Apply sends the two halves, and so on, down to the
// single document that the server refuses.
//
// Apply sends a document that does not fit the index's fields again, alone. The document may have lost a race: a
// concurrent request created a field with another type. Each such race decides the type of one more field. So Apply
// sends the document again until it fails for a field whose type was already decided.
func (s *Store) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	coalesced := search.Coalesce(ms)
	b := &bulk{store: s, mutations: ms, results: make([]search.Result, len(ms))}
	if err := b.sendAll(ctx, coalesced.Newest); err != nil {
		return nil, err
	}
	for _, u := range b.unfit {
		b.alone = &u
		for b.again = true; b.again; {
			b.again = false
			if err := b.sendAll(ctx, []int{u.i}); err != nil {
				return nil, err
			}
		}
	}
	coalesced.Share(ms, b.results)
	return b.results, nil
}

// bulk is one call of Apply.
type bulk struct {
	store     *Store
	mutations []search.Mutation
	results   []search.Result
	// unfit has the mutations that did not fit the index's fields at the first attempt
	unfit []unfitMutation
	// alone is the mutation that is sent alone after the first attempt. It is nil during the first attempt. A repair
	// sets an empty value, so that no mutation is sent alone
	alone *unfitMutation
	again bool // alone is to be sent once more

	stop error // error after which nothing more is sent
}

// unfitMutation is a mutation that did not fit the index's fields.
type unfitMutation struct {
	i int
	// decided has the fields whose types other documents decided. The mutation cannot lose the race for one of these
	// fields twice
	decided []string
}

// losesAnother reports whether the mutation failed because another document decided the type of a field at the same
// time. It returns false if the field is already in decided. Otherwise it adds the field to decided.
func (u *unfitMutation) losesAnother(f *failure) bool {
	field := f.field()
	if field == "" || !f.reasonContains("cannot be changed from type") || slices.Contains(u.decided, field) {
		return false
	}
	u.decided = append(u.decided, field)
	return true
}

// maxRounds bounds how often sendAll sends a document. A document is sent again if it lost a race with another writer,
// or if its index or script was just deleted. After the last round the mutation fails with a transient error, and the
// pipeline waits before it retries.
const maxRounds = 5

// sendAll sends the mutations left. It repeats the mutations that are to be sent again at once, for up to maxRounds
// rounds.
func (b *bulk) sendAll(ctx context.Context, left []int) error {
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

// resolve ensures that the indexes of the mutations at exist. It returns the mutations that can be sent, and sets the
// errors of those that cannot. Here and below, at holds indexes into b.mutations.
func (b *bulk) resolve(ctx context.Context, indexes []int) []int {
	failed := make(map[string]error) // by index
	left := indexes[:0:0]
	for _, i := range indexes {
		m := &b.mutations[i]
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
		if b.results[i].Err = err; err == nil {
			left = append(left, i)
		}
	}
	return left
}

// send sends the mutations at, in as many requests as the limits require. It returns the mutations that are to be sent
// again at once.
func (b *bulk) send(ctx context.Context, indexes []int) (sendAloneAgain []int) {
	for parts := [][]int{indexes}; len(parts) > 0; { // a stack: the last part is sent next
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
		sendAloneAgain = append(sendAloneAgain, retry...)
		parts = append(parts, part[r.count:])
		if divide {
			parts = append(parts, sent[half:], sent[:half])
		}
	}
	if b.stop != nil {
		return nil
	}
	return sendAloneAgain
}

// fail sets the error of the mutations at. After it no more requests are sent.
func (b *bulk) fail(indexes []int, err error) {
	b.stop = err
	for _, i := range indexes {
		b.results[i].Err = err
	}
}

// commonIndex returns the index of all mutations at, or "" if they have several.
func (b *bulk) commonIndex(indexes []int) string {
	for _, i := range indexes {
		if b.mutations[i].Index != b.mutations[indexes[0]].Index {
			return ""
		}
	}
	return b.mutations[indexes[0]].Index
}

// pathIn returns the path below an index, or below the server if index is "".
func pathIn(index, path string) string {
	if index == "" {
		return path
	}
	return "/" + url.PathEscape(index) + path
}

// bulkPath is the path of a bulk request. It restricts the answer to the parts that the store reads.
const bulkPath = "/_bulk?filter_path=items.*.status,items.*.result,items.*.error"

const opWrite = "write a document"

// perform sends the request r with the mutations at, and sets their results. again holds the mutations that are to be
// sent again at once. divide is true if the server refused r as a whole and the halves of r are to be sent instead.
func (b *bulk) perform(ctx context.Context, r bulkRequest, indexes []int) (sendAloneAgain []int, divide bool) {
	s := b.store
	a, err := s.client.bulk(ctx, pathIn(r.index, s.bulkPath), r.body)
	if err != nil {
		b.fail(indexes, err)
		return nil, false
	}
	if a.succeeded() {
		s.limits.noteAccepted()
		return b.items(ctx, indexes, a.body), false
	}
	f := a.parse()
	class := f.classify()
	blamesDocuments := class == tooLarge || class == badMapping && a.status == http.StatusBadRequest
	switch {
	case blamesDocuments:
		if len(indexes) == 1 {
			b.setResult(indexes[0], &bulkItem{failure: f}, len(r.body))
			return nil, false
		}
		if class == tooLarge {
			s.limits.tooLarge(len(r.body))
		}
		return nil, true
	case class == badMapping, class == gone: // not from an OpenSearch server: it never answers a bulk request so
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
		err = a.asError(opWrite, "")
	}
	b.fail(indexes, err)
	return nil, false
}

// items sets the results of the mutations at from the server's answer. It returns the mutations that are to be sent
// again at once.
func (b *bulk) items(ctx context.Context, indexes []int, body []byte) (sendAloneAgain []int) {
	var kept []int
	ok := parseItems(body, len(indexes), func(n int, it *bulkItem) {
		switch i := indexes[n]; b.setResult(i, it, 0) {
		case settled:
		case storedKept:
			kept = append(kept, i)
		case sendAgain:
			sendAloneAgain = append(sendAloneAgain, i)
		case sendAlone:
			u := unfitMutation{i: i}
			u.losesAnother(&it.failure)
			b.unfit = append(b.unfit, u)
		}
	})
	if !ok {
		b.fail(indexes, errMismatchedAnswer)
		return nil
	}
	b.readStoredVersions(ctx, kept)
	return sendAloneAgain
}

// nextStep is what the store does next with a mutation, after the server's answer about its document.
type nextStep uint8

const (
	settled    nextStep = iota // nothing: the result is final
	storedKept                 // read the stored version, since the script did not change the document
	sendAgain                  // send the mutation again at once: it lost a race, or its index or script was deleted
	sendAlone                  // send the mutation a second time, alone
)

// setResult sets the result of the mutation i from the server's answer about it, and returns the next step. size is the
// length of the request if the server refused the whole request, else 0.
func (b *bulk) setResult(i int, it *bulkItem, size int) nextStep {
	m, r := &b.mutations[i], &b.results[i]
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
	switch class := it.classify(); {
	case class == versionConflict:
		return sendAgain
	case class == noScript:
		b.store.installed.Store(false)
		return sendAgain
	case class == noIndex && b.store.indexes != nil:
		b.store.indexes.readyAt.Delete(m.Index)
		r.Err = pipeline.Transient(r.Err) // the retry looks for the index again
		return sendAgain
	case class == tooLarge && size > 0:
		e.Hint = fmt.Sprintf("the document has %d bytes, its request %d: %s", len(m.Doc), size, e.Hint)
	case size > 0 || !it.documentUnfit():
	case b.alone == nil:
		return sendAlone
	case b.alone.losesAnother(&it.failure):
		b.again = true
	default:
		b.store.setUnholdableHint(e, &it.failure, m.Doc)
	}
	return settled
}
