package opensearch

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/search"
)

// maxID is the length of a document id in bytes that OpenSearch takes; a longer one fails the
// whole request that it is in.
const maxID = 512

// checkMutation tells what is wrong with a mutation that would fail a whole request.
func (s *Store) checkMutation(m *search.Mutation) error {
	switch {
	case m.ID == "":
		return errs.New("opensearch: a document without an id")
	case len(m.ID) > maxID:
		return errs.Errorf("opensearch: a document id has %d bytes; OpenSearch takes %d: name documents by search.DocumentID", len(m.ID), maxID)
	case len(m.Doc) == 0 || m.Doc[0] != '{':
		return errs.New("opensearch: a document is no JSON object")
	case s.mode == Fast && second(m) < 0:
		return errs.Errorf("opensearch: a change was made before 1970, which mode: %s can't put in order: use mode: %s", redact.Safe(Fast), redact.Safe(Exact))
	}
	return nil
}

// second is the version of a mutation for the server where it compares: the creation
// time of the change. A change without one, as of a backfill, is below every other.
func second(m *search.Mutation) int64 {
	if m.Time.IsZero() {
		return 0
	}
	return m.Time.Unix()
}

// bulkRequest writes the first mutations of a list.
type bulkRequest struct {
	count int
	index string // of all of them: it is in the path, where a policy sees it, and in no line. "": lines name theirs
	body  []byte
}

// lineOverhead is about how many bytes a request has for a mutation beside its document and its id.
const lineOverhead = 256

// encode makes a request of as many of the mutations at as the limits allow, and of
// one at least.
func (b *bulk) encode(at []int) bulkRequest {
	most := b.store.limits.now()
	r := bulkRequest{index: b.common(at)}
	at = at[:min(len(at), b.store.limits.count)]
	size := 0
	for _, i := range at {
		if size += len(b.ms[i].Doc) + len(b.ms[i].ID) + lineOverhead; size > most {
			break
		}
	}
	r.body = make([]byte, 0, size)
	for _, i := range at {
		m, end, index := &b.ms[i], len(r.body), ""
		if r.index == "" {
			index = m.Index
		}
		if b.store.mode == Fast {
			r.body = b.store.appendFast(r.body, index, m)
		} else {
			r.body = b.store.appendExact(r.body, index, m)
		}
		if len(r.body) > most && r.count > 0 {
			r.body = r.body[:end]
			break
		}
		r.count++
	}
	return r
}

// appendExact appends the lines that write a mutation where it is newer than what
// is there, as the script sees it. A document that is not there yet is the script's to make.
func (s *Store) appendExact(dst []byte, index string, m *search.Mutation) []byte {
	dst = append(dst, `{"update":{`...)
	dst = appendAddress(dst, index, m)
	dst = append(dst, "}}\n"+`{"scripted_upsert":true,"upsert":{},"script":{"id":"`...)
	dst = append(dst, s.script...)
	dst = append(dst, `","params":{"doc":`...)
	dst = appendLine(dst, s.document(m))
	return append(dst, "}}}\n"...)
}

// appendFast appends the lines that write a mutation where the server holds no later second.
func (s *Store) appendFast(dst []byte, index string, m *search.Mutation) []byte {
	dst = append(dst, `{"index":{`...)
	dst = appendAddress(dst, index, m)
	dst = append(dst, `,"version_type":"external_gte","version":`...)
	dst = strconv.AppendInt(dst, second(m), 10)
	dst = append(dst, "}}\n"...)
	dst = appendLine(dst, s.document(m))
	return append(dst, '\n')
}

func appendAddress(dst []byte, index string, m *search.Mutation) []byte {
	if index != "" { // "": the path names it
		dst = append(appendText(append(dst, `"_index":`...), index), ',')
	}
	dst = appendText(append(dst, `"_id":`...), m.ID)
	if m.Routing != "" {
		dst = appendText(append(dst, `,"routing":`...), m.Routing)
	}
	return dst
}

// appendText appends s as a JSON string.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b == '"' || b == '\\' || b >= utf8.RuneSelf {
			return item.StringValue(s).AppendJSON(dst)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// appendLine appends a JSON document on one line, as a bulk request needs it: line
// breaks stand between its tokens alone, where a space does as well.
func appendLine(dst, doc []byte) []byte {
	from := len(dst)
	dst = append(dst, doc...)
	for line := dst[from:]; ; {
		i := bytes.IndexByte(line, '\n')
		if i < 0 {
			return dst
		}
		line[i] = ' '
		line = line[i+1:]
	}
}
