package opensearch

import (
	"context"
	"net/http"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// versionsPath requests the versions of documents.
const versionsPath = "/_mget?_source_includes=_tw.version,_tw.birth&filter_path=docs.found,docs._source,docs.error"

// errVanished means that a document was deleted between the write and the read of its version.
var errVanished = pipeline.Transient(errs.New(
	"opensearch: a document was there and is not any more: was its index deleted, or its tombstone purged?"))

// readStoredVersions sets the results of the mutations that the script left alone: the stored document is newer, or has
// the version of the same change, as after a repetition. To read the version in every bulk request would cost more than
// a second request for those few.
func (b *bulk) readStoredVersions(ctx context.Context, at []int) {
	if len(at) == 0 {
		return
	}
	body, err := b.multiGet(ctx, at, versionsPath, "read the version of a document")
	compare := func(n int, version, birth []byte) { b.compare(at[n], version, birth) }
	if err == nil && !parseVersions(body, len(at), compare) {
		err = errShort
	}
	if err != nil {
		for _, i := range at {
			b.results[i] = search.Result{Err: err} // a repetition finds the same version, or a newer one
		}
	}
}

// multiGet requests the stored documents of the mutations at, independent of the last refresh.
func (b *bulk) multiGet(ctx context.Context, at []int, path, op string) ([]byte, error) {
	common := b.commonIndex(at)
	body := []byte(`{"docs":[`)
	for n, i := range at {
		m, index := &b.mutations[i], ""
		if n > 0 {
			body = append(body, ',')
		}
		if common == "" {
			index = b.store.physical(m.Index)
		}
		body = append(appendTarget(append(body, '{'), index, m), '}')
	}
	if common != "" {
		common = b.store.physical(common)
	}
	a, err := b.store.client.do(ctx, http.MethodPost, pathIn(common, path), append(body, "]}"...))
	if err == nil && !a.succeeded() {
		err = a.failure(op, "")
	}
	return a.body, err
}

// compare sets the result of a mutation by the version and the birth that are stored.
func (b *bulk) compare(i int, version, birth []byte) {
	m, r := &b.mutations[i], &b.results[i]
	var room [80]byte
	switch {
	case len(version) == 0:
		r.Err = errVanished
	case string(birth) != m.Birth:
		r.Err = state.BirthMismatch(b.store.sink(), "a document of index "+m.Index, string(birth), m.Birth)
	case string(version) != string(m.Version.Append(room[:0])):
		r.Outcome = pipeline.Superseded
	}
}

// parseVersions reads the answer to a request for the versions and births of n documents, and
// calls visit with all of them in order; a missing one is nil.
func parseVersions(body []byte, n int, visit func(i int, version, birth []byte)) bool {
	var version, birth []byte
	return parseList(body, "docs", n, func(c *jsoncursor.Cursor) { version, birth = readMark(c) },
		func(i int) { visit(i, version, birth) })
}

// readMark reads the version and the birth in _source._tw of the next value; nil if they are missing.
func readMark(c *jsoncursor.Cursor) (version, birth []byte) {
	for name := range c.Members() {
		if string(name) != "_source" {
			continue
		}
		for name := range c.Members() {
			if string(name) != "_tw" {
				continue
			}
			for name := range c.Members() {
				switch string(name) {
				case "version":
					version = c.Text()
				case "birth":
					birth = c.Text()
				}
			}
		}
	}
	return version, birth
}
