package opensearch

import (
	"context"
	"net/http"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// versionsPath asks for the versions of documents.
const versionsPath = "/_mget?_source_includes=_tw.version,_tw.birth&filter_path=docs.found,docs._source,docs.error"

const opRead = "read the version of a document"

// tell finds what became of the mutations at, which the script left alone: what is
// there is newer, or it is of the very same change, as after a repetition. To ask for the
// version in every bulk request would cost more than to ask again for those few.
func (b *bulk) tell(ctx context.Context, at []int) {
	if len(at) == 0 {
		return
	}
	one := common(at, b.standsIn)
	body := append(b.store.buffers.get(), `{"docs":[`...)
	for n, i := range at {
		if n > 0 {
			body = append(body, ',')
		}
		index := ""
		if one == "" {
			index = b.standsIn(i)
		}
		body = append(appendAddress(append(body, '{'), index, &b.ms[i]), '}')
	}
	p := &payload{bytes: append(body, "]}"...)}
	a, err := b.store.client.send(ctx, http.MethodPost, within(one, versionsPath), "application/json", p, b.store.buffers.get())
	if err == nil && !a.ok() {
		err = a.failure(opRead, "")
	}
	if err == nil && !parseVersions(a.body, len(at), func(n int, version, birth []byte) {
		var buf [80]byte
		switch i := at[n]; {
		case len(version) == 0:
			b.rs[i].Err = errVanished
		case string(birth) != b.ms[i].Birth:
			b.rs[i].Err = state.OtherBirth(b.store.sink(), "a document of index "+b.ms[i].Index, string(birth), b.ms[i].Birth)
		case string(version) == string(b.ms[i].Version.Append(buf[:0])):
		default:
			b.rs[i].Outcome = pipeline.Superseded
		}
	}) {
		err = errShort
	}
	if err != nil {
		for _, i := range at {
			b.rs[i] = search.Result{Err: err} // when it comes again it finds the same, or what is newer
		}
	}
	b.store.buffers.put(a.body)
	if p.free() {
		b.store.buffers.put(p.bytes)
	}
}

// standsIn is the index that mutation i is read back from: the one that is written to,
// since a server reads no document through an alias of several.
func (b *bulk) standsIn(i int) string {
	if b.store.indexes == nil {
		return b.index[i]
	}
	return physical(b.index[i])
}

// errVanished means that a document was deleted between two looks at it.
var errVanished = pipeline.Transient(errs.New("opensearch: a document was there and is not any more: was its index deleted, or its tombstone purged?"))

// parseVersions reads the answer to a request for the versions and births of n documents, and
// calls each with every one in order: nil where there is none.
func parseVersions(body []byte, n int, each func(i int, version, birth []byte)) bool {
	var version, birth []byte
	return parseList(body, "docs", n, func(c *jsoncursor.Cursor) { version, birth = readMark(c) }, func(i int) { each(i, version, birth) })
}

// readMark is what the next value says in _source._tw: nil where it says nothing.
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
