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

// Apply writes mutations as search.Store defines, in one bulk request or several in sequence. It sends the newest
// mutation of each document. If the server refuses a whole request, Apply sends the two halves, and so on, down to the
// single document that the server refuses.
//
// Apply sends a document that does not fit the index's fields again, alone, because it may have lost a race: a
// concurrent request created a field with another type. See sendUnfitAlone.
func (s *Store) Apply(ctx context.Context, mutations []search.Mutation) ([]search.Result, error) {
	coalesced := search.Coalesce(mutations)
	b := &bulk{store: s, mutations: mutations, results: make([]search.Result, len(mutations))}
	if err := b.sendAll(ctx, coalesced.Newest); err != nil {
		return nil, err
	}
	for i := range b.unfit {
		if err := b.sendUnfitAlone(ctx, &b.unfit[i]); err != nil {
			return nil, err
		}
	}
	coalesced.Share(mutations, b.results)
	return b.results, nil
}

// bulk is one call of Apply.
type bulk struct {
	store     *Store
	mutations []search.Mutation
	results   []search.Result
	// unfit has the mutations that did not fit the index's fields at the first attempt
	unfit []unfitMutation
	// resending is the mutation that is sent alone after the first attempt. It is nil during the first attempt
	resending *unfitMutation
	again     bool // send the mutation in resending once more

	stop error // error after which nothing more is sent
}

// maxRounds is how often sendAll sends a document at most. It sends a document again if the document lost a race with
// another writer, or if its index or script was just deleted. After the last round the mutation fails with a transient
// error, and the pipeline waits before it retries.
const maxRounds = 5

// sendAll sends the mutations at the positions in left. Here and below, positions are those in b.mutations. sendAll
// repeats the mutations that are to be sent again at once, for up to maxRounds rounds.
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

// resolve ensures that the indexes of the mutations at positions exist. It returns the mutations that can be sent, and
// sets the errors of those that cannot.
func (b *bulk) resolve(ctx context.Context, positions []int) []int {
	indexErrors := make(map[string]error) // by the name of the index; nil if the index exists
	left := positions[:0:0]
	for _, i := range positions {
		m := &b.mutations[i]
		err, known := indexErrors[m.Index]
		if !known {
			err = b.store.checkIndex(ctx, m.Index)
			indexErrors[m.Index] = err
		}
		if err == nil {
			err = b.store.checkMutation(m)
		}
		b.results[i].Err = err
		if err == nil {
			left = append(left, i)
		}
	}
	return left
}

// checkIndex checks the name of an index, and ensures that the index exists.
func (s *Store) checkIndex(ctx context.Context, name string) error {
	if err := search.CheckIndex(name); err != nil {
		return err
	}
	return s.ensureIndex(ctx, name)
}

// send sends the mutations at positions, in as many requests as the limits require. It returns the mutations that are
// to be sent again at once. If b.stop is set, it sends nothing more: the other mutations fail, and none is sent again.
func (b *bulk) send(ctx context.Context, positions []int) (sendAgainNow []int) {
	for len(positions) > 0 && b.stop == nil {
		r := b.encode(positions)
		sendAgainNow = append(sendAgainNow, b.perform(ctx, r, positions[:r.count])...)
		positions = positions[r.count:]
	}
	if b.stop != nil {
		b.fail(positions, b.stop)
		return nil
	}
	return sendAgainNow
}

// fail sets the error of the mutations at positions. No more requests are sent after that.
func (b *bulk) fail(positions []int, err error) {
	b.stop = err
	for _, i := range positions {
		b.results[i].Err = err
	}
}

// commonIndex returns the index of all mutations at positions, or "" if they have several.
func (b *bulk) commonIndex(positions []int) string {
	index := b.mutations[positions[0]].Index
	for _, i := range positions {
		if b.mutations[i].Index != index {
			return ""
		}
	}
	return index
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

// perform sends the request r with the mutations at positions, and sets their results. If the server refuses r because
// of its documents, perform sends the two halves instead. It returns the mutations that are to be sent again at once.
func (b *bulk) perform(ctx context.Context, r bulkRequest, positions []int) (sendAgainNow []int) {
	s := b.store
	a, err := s.client.sendBulk(ctx, pathIn(r.index, s.bulkPath), r.body)
	if err != nil {
		b.fail(positions, err)
		return nil
	}
	if a.succeeded() {
		s.limits.noteAccepted()
		return b.setResults(ctx, positions, a.body)
	}

	f := a.parse()
	class := f.classify()
	isTooLarge := class == tooLarge
	isBadDocument := class == badMapping && a.status == http.StatusBadRequest
	if !isTooLarge && !isBadDocument {
		if class == busy {
			s.limits.noteBusy(len(r.body))
		}
		b.fail(positions, refusedBulkError(a, &f))
		return nil
	}
	if len(positions) == 1 {
		b.setResult(positions[0], &bulkItem{failure: f})
		if isTooLarge {
			b.hintAtSize(positions[0], len(r.body))
		}
		return nil
	}
	if isTooLarge {
		s.limits.noteTooLarge(len(r.body))
	}
	half := len(positions) / 2
	return append(b.send(ctx, positions[:half]), b.send(ctx, positions[half:])...)
}

// refusedBulkError returns the error of a bulk request that the server refused for another reason than its documents.
// f is the failure of the answer a.
func refusedBulkError(a answer, f *failure) error {
	class := f.classify()
	if class != badMapping && class != noDocument {
		return a.asError(opWrite, "")
	}

	// An OpenSearch server never answers a bulk request with these classes.
	err := &Error{Op: opWrite, Status: a.status, Type: string(f.kind), Hint: "is url the address of an OpenSearch server?"}
	if class == noDocument && f.kind == nil {
		return pipeline.Transient(err)
	}
	return pipeline.Fatal(err)
}

// setResults sets the results of the mutations at positions from the server's answer. It returns the mutations that are
// to be sent again at once.
func (b *bulk) setResults(ctx context.Context, positions []int, body []byte) (sendAgainNow []int) {
	var kept []int
	ok := parseItems(body, len(positions), func(n int, it *bulkItem) {
		i := positions[n]
		switch b.setResult(i, it) {
		case settled:
		case storedKept:
			kept = append(kept, i)
		case sendAgain:
			sendAgainNow = append(sendAgainNow, i)
		case unfit:
			b.handleUnfit(i, &it.failure)
		}
	})
	if !ok {
		b.fail(positions, errMismatchedAnswer)
		return nil
	}
	b.readStoredVersions(ctx, kept)
	return sendAgainNow
}

// nextStep is what the store does next with a mutation, after the server's answer about its document.
type nextStep uint8

const (
	settled    nextStep = iota // nothing: the result is final
	storedKept                 // read the stored version, since the script did not change the document
	sendAgain                  // send the mutation again at once: it lost a race, or its index or script was deleted
	unfit                      // the document did not fit the fields that its index had
)

// setResult sets the result of the mutation i from the server's answer about it, and returns the next step. If the
// answer says that the script or the index is missing, it also forgets that they were there.
func (b *bulk) setResult(i int, it *bulkItem) nextStep {
	m, r := &b.mutations[i], &b.results[i]
	*r = search.Result{}
	if it.status/100 == 2 {
		if it.noop {
			return storedKept
		}
		return settled
	}
	if it.status == http.StatusConflict && b.store.mode == Fast {
		r.Outcome = pipeline.Superseded
		return settled
	}

	r.Err = it.err(opWrite, m.Index)
	class := it.classify()
	switch {
	case class == versionConflict:
		return sendAgain
	case class == noScript:
		b.store.installed.Store(false)
		return sendAgain
	case class == noIndex && b.store.indexes != nil:
		b.store.indexes.readyAt.Delete(m.Index)
		r.Err = pipeline.Transient(r.Err) // the retry looks for the index again
		return sendAgain
	case it.documentUnfit():
		return unfit
	}
	return settled
}

// hintAtSize adds the sizes to the error of the mutation i. The server refused its request of size bytes as too large.
func (b *bulk) hintAtSize(i, size int) {
	e, _ := errors.AsType[*Error](b.results[i].Err)
	e.Hint = fmt.Sprintf("the document has %d bytes, its request %d: %s", len(b.mutations[i].Doc), size, e.Hint)
}
