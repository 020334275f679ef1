package opensearch

import (
	"bytes"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/search"
)

// checkMutation returns an error if the mutation would make the server refuse the whole request.
func (s *Store) checkMutation(m *search.Mutation) error {
	switch {
	case m.ID == "":
		return errs.New("opensearch: a document without an id")
	case len(m.ID) > search.MaxID: // such an id fails the whole request
		return errs.Errorf("opensearch: a document id has %d bytes; OpenSearch takes %d: name documents by search.DocumentID",
			len(m.ID), search.MaxID)
	case len(m.Doc) == 0 || m.Doc[0] != '{':
		return errs.New("opensearch: a document is not a JSON object")
	case s.mode == Fast && externalVersion(m) < 0:
		return errs.Errorf("opensearch: a change was made before 1970, which mode: %s can't put in order: use mode: %s",
			redact.Safe(Fast), redact.Safe(Exact))
	}
	return nil
}

// externalVersion returns the version of a mutation in mode fast: the creation time of the change in Unix seconds.
// OpenSearch calls a version that the client gives an external version. A change without a time has version 0, below
// all others.
func externalVersion(m *search.Mutation) int64 {
	if m.Time.IsZero() {
		return 0
	}
	return m.Time.Unix()
}

// bulkRequest is a bulk request with the first count mutations of a list.
type bulkRequest struct {
	count int
	// index is the common index of all mutations. The path then names it, so that access policies can check it. ""
	// means that each line names its own index
	index string
	body  []byte
}

// lineOverhead estimates the bytes of a mutation besides its document and its id.
const lineOverhead = 256

// encode returns a request with the first of the mutations at positions: as many as the limits allow, and at least one.
func (b *bulk) encode(positions []int) bulkRequest {
	maxBytes := b.store.limits.maxBytes()
	r := bulkRequest{index: b.commonIndex(positions)}
	positions = positions[:min(len(positions), b.store.limits.count)]
	r.body = make([]byte, 0, b.estimateSize(positions, maxBytes))

	for _, i := range positions {
		m := &b.mutations[i]
		before := len(r.body)
		index := indexInLine(r.index, m)
		if b.store.mode == Fast {
			r.body = b.store.appendFast(r.body, index, m)
		} else {
			r.body = b.store.appendExact(r.body, index, m)
		}
		if isFirst := r.count == 0; len(r.body) > maxBytes && !isFirst {
			r.body = r.body[:before] // this mutation belongs to the next request
			break
		}
		r.count++
	}
	return r
}

// estimateSize returns about the size of a request with the mutations at positions. Above maxBytes it counts no
// further.
func (b *bulk) estimateSize(positions []int, maxBytes int) (size int) {
	for _, i := range positions {
		size += len(b.mutations[i].Doc) + len(b.mutations[i].ID) + lineOverhead
		if size > maxBytes {
			break
		}
	}
	return size
}

// indexInLine returns the index that the line of a mutation names. It returns "" if all lines have a common index,
// because the path then names it.
func indexInLine(common string, m *search.Mutation) string {
	if common == "" {
		return m.Index
	}
	return ""
}

// appendExact appends the lines that write a mutation if the script finds no newer version. The script also creates a
// missing document (scripted_upsert).
func (s *Store) appendExact(dst []byte, index string, m *search.Mutation) []byte {
	dst = append(dst, `{"update":{`...)
	dst = appendTarget(dst, index, m)
	dst = append(dst, "}}\n"+`{"scripted_upsert":true,"upsert":{},"script":{"id":"`...)
	dst = append(dst, scriptID...)
	dst = append(dst, `","params":{"doc":`...)
	dst = appendDocument(dst, s.documentToSend(m))
	return append(dst, "}}}\n"...)
}

// appendFast appends the lines that write a mutation. The server refuses them if a change of a later second wrote the
// stored document.
func (s *Store) appendFast(dst []byte, index string, m *search.Mutation) []byte {
	dst = append(dst, `{"index":{`...)
	dst = appendTarget(dst, index, m)
	dst = append(dst, `,"version_type":"external_gte","version":`...)
	dst = strconv.AppendInt(dst, externalVersion(m), 10)
	dst = append(dst, "}}\n"...)
	dst = appendDocument(dst, s.documentToSend(m))
	return append(dst, '\n')
}

// appendTarget appends the members of a line that name the document of a mutation.
func appendTarget(dst []byte, index string, m *search.Mutation) []byte {
	if index != "" { // "": the path names the index
		dst = append(dst, `"_index":`...)
		dst = item.AppendJSONText(dst, index)
		dst = append(dst, ',')
	}
	dst = append(dst, `"_id":`...)
	dst = item.AppendJSONText(dst, m.ID)
	if m.Routing != "" {
		dst = append(dst, `,"routing":`...)
		dst = item.AppendJSONText(dst, m.Routing)
	}
	return dst
}

// appendDocument appends a JSON document on one line, as a bulk request requires. It replaces line breaks by spaces.
// This is safe, because JSON has line breaks only between tokens.
func appendDocument(dst, doc []byte) []byte {
	start := len(dst)
	dst = append(dst, doc...)
	rest := dst[start:]
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return dst
		}
		rest[i] = ' '
		rest = rest[i+1:]
	}
}
