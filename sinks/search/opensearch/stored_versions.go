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

// errVanished means that a document was deleted after the script found it and before its version was read.
var errVanished = pipeline.Transient(errs.New(
	"opensearch: a document was there and is not any more: was its index deleted, or its tombstone purged?"))

// readStoredVersions sets the results of the mutations at positions. For these, the script changed nothing: either the
// stored document is newer, or the same change has already written it. Such mutations are few, so a second request for
// them costs less than bulk requests that always return the stored versions.
func (b *bulk) readStoredVersions(ctx context.Context, positions []int) {
	if len(positions) == 0 {
		return
	}
	body, err := b.multiGet(ctx, positions, versionsPath, "read the version of a document")
	setResult := func(n int, stored *versionMark) { b.setKeptResult(positions[n], stored) }
	if err == nil && !parseVersions(body, len(positions), setResult) {
		err = errMismatchedAnswer
	}
	if err != nil {
		for _, i := range positions {
			b.results[i] = search.Result{Err: err} // a retry is safe: it finds the same version, or a newer one
		}
	}
}

// multiGet reads the stored documents of the mutations at positions. It does not need a refresh of the index.
func (b *bulk) multiGet(ctx context.Context, positions []int, path, op string) ([]byte, error) {
	pathIndex := "" // the index that the path names, if all documents are in one index
	if common := b.commonIndex(positions); common != "" {
		pathIndex = b.store.physical(common)
	}
	body := []byte(`{"docs":[`)
	for n, i := range positions {
		m := &b.mutations[i]
		index := ""
		if pathIndex == "" {
			index = b.store.physical(m.Index)
		}
		if n > 0 {
			body = append(body, ',')
		}
		body = append(body, '{')
		body = appendTarget(body, index, m)
		body = append(body, '}')
	}
	a, err := b.store.client.do(ctx, http.MethodPost, pathIn(pathIndex, path), append(body, "]}"...))
	if err == nil && !a.succeeded() {
		err = a.asError(op, "")
	}
	return a.body, err
}

// setKeptResult sets the result of the mutation i, for which the script kept the stored document.
func (b *bulk) setKeptResult(i int, stored *versionMark) {
	m, r := &b.mutations[i], &b.results[i]
	var buffer [80]byte
	switch {
	case len(stored.version) == 0:
		r.Err = errVanished
	case string(stored.birth) != m.Birth:
		r.Err = state.BirthMismatch(b.store.sinkName(), "a document of index "+m.Index, string(stored.birth), m.Birth)
	case string(stored.version) != string(m.Version.Append(buffer[:0])):
		r.Outcome = pipeline.Superseded
	}
}

// versionMark has the version and the birth of a stored document; nil if they are missing. Without a version nothing is
// stored.
type versionMark struct{ version, birth []byte }

// parseVersions is [parseList] for the answer to a request for the versions and births of n documents.
func parseVersions(body []byte, n int, visit func(i int, stored *versionMark)) bool {
	return parseList(body, "docs", n, readMark, visit)
}

// readMark reads _source._tw of the next value.
func readMark(c *jsoncursor.Cursor) (m versionMark) {
	for name := range c.Members() {
		if string(name) != "_source" {
			continue
		}
		for field := range c.Members() {
			if string(field) == "_tw" {
				m = readOwn(c)
			}
		}
	}
	return m
}

// readOwn reads _tw, the next value.
func readOwn(c *jsoncursor.Cursor) (m versionMark) {
	for name := range c.Members() {
		switch string(name) {
		case "version":
			m.version = c.Text()
		case "birth":
			m.birth = c.Text()
		}
	}
	return m
}
