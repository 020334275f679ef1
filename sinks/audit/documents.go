package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// documentSink compares a search sink.
type documentSink struct {
	base
	store         search.Store
	maskedPlanner planner // plans with the mask; its texts are for people
}

var _ Sink = (*documentSink)(nil)

func newDocumentSink(ctx context.Context, b base, store search.Store) (*documentSink, error) {
	s := &documentSink{base: b, store: store, maskedPlanner: b.planner}
	var err error
	if b.mask != nil {
		s.maskedPlanner, err = newPlanner(ctx, b.cfg, b.spec, b.birth, b.filters, sinks.MaskAll())
	}
	return s, err
}

// maskedPrefix begins every masked value. A key that contains it is not the item's own key.
const maskedPrefix = "masked-"

// documentPlace returns the place of a document. A slash separates its parts, since names of indexes have no slash.
func documentPlace(index, routing, id string) string {
	if routing != "" {
		routing = url.PathEscape(routing)
	}
	return index + "/" + routing + "/" + id
}

// parseDocumentPlace is the inverse of documentPlace.
func parseDocumentPlace(place string) (index, routing, id string, err error) {
	index, rest, ok := strings.Cut(place, "/")
	routing, id, okID := strings.Cut(rest, "/")
	if !ok || !okID {
		return "", "", "", errs.Errorf("%q is no place of a document", place)
	}
	routing, err = url.PathUnescape(routing)
	return index, routing, id, err
}

// ExpectedEntries yields the document of an item.
func (s *documentSink) ExpectedEntries(c *record.Change, yield func(Entry)) error {
	if c.Removed() {
		return nil
	}
	return s.planner.withOps(c, func(ops []pipeline.Op) error { return expectedDocuments(c, ops, yield) })
}

func expectedDocuments(c *record.Change, ops []pipeline.Op, yield func(Entry)) error {
	d := digesters.Get().(*digester)
	defer digesters.Put(d)
	for _, op := range ops {
		m, ok := op.(*search.Mutation)
		if !ok || m.Tombstone {
			continue
		}
		digest, err := d.documentDigest(m.Doc, "")
		if err != nil {
			return err
		}
		yield(Entry{Kind: Document, Place: documentPlace(m.Index, m.Routing, m.ID), Item: c.Key, Digest: digest})
	}
	return nil
}

// StoredEntries yields the documents of all indexes of the sink. Entry.Item is "" if the id of a document does not
// contain the item's key, because the key is hashed, masked or too long.
func (s *documentSink) StoredEntries(ctx context.Context, l state.Listing) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		lister, err := storeAs[search.Lister](&s.base, s.store, "list documents")
		var indexes []string
		if err == nil {
			indexes, err = s.indexes(ctx)
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, index := range indexes {
			if !s.storedDocuments(ctx, lister, index, l, yield) {
				return
			}
		}
	}
}

// indexes returns the names of the sink's indexes.
func (s *documentSink) indexes(ctx context.Context) ([]string, error) {
	if name, whole := s.spec.Search.Index.Prefix(); whole {
		return []string{name}, nil
	}
	reader, err := storeAs[search.Reader](&s.base, s.store, "list indexes")
	if err != nil {
		return nil, err
	}
	return reader.Indexes(ctx)
}

// storedDocuments yields the documents of one index. It returns false if the caller stopped the sequence, or after an
// error.
func (s *documentSink) storedDocuments(
	ctx context.Context, lister search.Lister, index string, l state.Listing, yield func(Entry, error) bool,
) bool {
	d := digesters.Get().(*digester)
	defer digesters.Put(d)
	for doc, err := range lister.ListDocuments(ctx, index, l) {
		if errors.Is(err, search.ErrNoIndex) {
			return true // a missing index has no documents yet
		}
		e := Entry{Kind: Document, Place: documentPlace(index, doc.Routing, doc.ID), Version: doc.Version}
		if s.mask == nil || !strings.Contains(string(doc.Item), maskedPrefix) {
			e.Item = doc.Item
		}
		if err == nil {
			e.Digest, err = d.documentDigest(doc.Doc, s.foreignDocument(doc.Doc)+doc.Derived)
		}
		if err != nil {
			return yield(Entry{}, fmt.Errorf("%s: index %s: %w", s.spec.Name, index, err)) && false
		}
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// foreignDocument describes the birth, the recorded identity of an output, in a document that was written to another
// output of the sink. It returns "" for a document of this output.
func (s *documentSink) foreignDocument(doc []byte) string {
	c := jsoncursor.New(doc)
	for name := range c.Members() {
		if string(name) != reservedField {
			continue
		}
		for field := range c.Members() {
			if string(field) == "birth" {
				return s.foreignBirth(string(c.Text()))
			}
		}
		break
	}
	return s.foreignBirth("")
}

// plannedDocument is a document to compare, as it is planned.
type plannedDocument struct {
	index, routing, id string
	where              string // index and id, for people
	expected           bool
	doc                []byte // the document, if it is expected
}

// Compare compares the documents of an item with the plan.
func (s *documentSink) Compare(ctx context.Context, c *record.Change, places []Entry) ([]Finding, error) {
	docs, err := s.documentsOf(c)
	if err != nil {
		return s.unplannable(ctx, c, err)
	}
	for _, p := range places {
		if p.Kind != Document || slices.ContainsFunc(docs,
			func(d plannedDocument) bool { return documentPlace(d.index, d.routing, d.id) == p.Place }) {
			continue
		}
		index, routing, id, err := parseDocumentPlace(p.Place)
		if err != nil {
			return nil, err
		}
		// the name of the index may have a sensitive value, too
		docs = append(docs, plannedDocument{index: index, routing: routing, id: id, where: s.mask.Text(index + "/" + id)})
	}
	fs := make([]Finding, len(docs))
	for i := range docs {
		if fs[i], err = s.compareDocument(ctx, &docs[i]); err != nil {
			return nil, fmt.Errorf("%s: document %s: %w", s.spec.Name, docs[i].where, err)
		}
	}
	return s.adjustVerdicts(ctx, c, fs)
}

// documentsOf returns the documents that the plans of an item name.
func (s *documentSink) documentsOf(c *record.Change) (docs []plannedDocument, err error) {
	if c == nil {
		return nil, nil
	}
	var ops, maskedOps []pipeline.Op
	if !c.Removed() {
		if ops, err = s.planner.ops(c); err != nil {
			return nil, err
		}
		maskedOps, _ = s.maskedPlanner.ops(c)
	}
	if len(ops) == 0 {
		ops, maskedOps = s.planner.removalOps(c), s.maskedPlanner.removalOps(c)
	}
	for i, op := range ops {
		m, ok := op.(*search.Mutation)
		if !ok {
			continue
		}
		d := plannedDocument{index: m.Index, routing: m.Routing, id: m.ID, where: m.Index + "/" + s.mask.Text(m.ID),
			expected: !m.Tombstone, doc: m.Doc}
		if i < len(maskedOps) {
			if masked, ok := maskedOps[i].(*search.Mutation); ok {
				d.where = masked.Index + "/" + masked.ID
			}
		}
		docs = append(docs, d)
	}
	return docs, nil
}

func (s *documentSink) compareDocument(ctx context.Context, p *plannedDocument) (Finding, error) {
	in, err := storeAs[search.Inspector](&s.base, s.store, "read single documents")
	if err != nil {
		return Finding{}, err
	}
	st, err := in.ReadStored(ctx, p.index, p.id, p.routing)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Kind: Document, Place: documentPlace(p.index, p.routing, p.id), PlaceText: p.where, Expected: p.expected,
		Version: st.Version, Verdict: Equal, FoundText: "nothing"}
	switch exists := st.Exists && !st.Tombstone; {
	case exists && p.expected:
		f.FoundText = "a document"
		var names []string
		names, err = s.differingFields(st.Doc, p.doc)
		f.setDifferences(names, st.Derived)
	case exists:
		f.Verdict, f.FoundText = Extra, "a document"
	case st.Tombstone:
		f.FoundText = "a tombstone"
		fallthrough
	default:
		if p.expected {
			f.Verdict = Missing
		}
	}
	return f, err
}

// differingFields returns the names of the top-level fields that differ. The name _tw means that the document belongs
// to another output.
func (s *documentSink) differingFields(have, want []byte) ([]string, error) {
	var haveFields, wantFields map[string]json.RawMessage
	if err := json.Unmarshal(have, &haveFields); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(want, &wantFields); err != nil {
		return nil, err
	}
	delete(haveFields, reservedField)
	delete(wantFields, reservedField)
	all := maps.Clone(haveFields)
	maps.Copy(all, wantFields)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		same, err := sameJSON(haveFields[name], wantFields[name])
		if err != nil {
			return nil, err
		}
		if !same {
			names = append(names, name)
		}
	}
	if s.foreignDocument(have) != "" {
		names = append(names, reservedField)
	}
	return names, nil
}

// sameJSON reports whether two JSON values are equal, whatever their spelling. nil means that there is no value.
func sameJSON(a, b json.RawMessage) (bool, error) {
	if a == nil || b == nil {
		return a == nil && b == nil, nil
	}
	x, err := appendCanonicalJSON(nil, a)
	if err != nil {
		return false, err
	}
	y, err := appendCanonicalJSON(nil, b)
	return string(x) == string(y), err
}
