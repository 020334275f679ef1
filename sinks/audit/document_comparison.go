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
		return "", "", "", errs.Errorf("%q is not a place of a document", place)
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

// expectedDocuments yields the documents of planned ops.
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
	lister, err := storeAs[search.Lister](s.store, "list documents")
	if err != nil {
		return noEntries(err)
	}
	return func(yield func(Entry, error) bool) {
		indexes, err := s.indexes(ctx)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, index := range indexes {
			for e, err := range s.storedDocuments(index, lister.ListDocuments(ctx, index, l)) {
				if errors.Is(err, search.ErrNoIndex) {
					break // a missing index has no documents yet
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// indexes returns the names of the sink's indexes.
func (s *documentSink) indexes(ctx context.Context) ([]string, error) {
	if name, isWholeName := s.spec.Search.Index.Prefix(); isWholeName {
		return []string{name}, nil
	}
	reader, err := storeAs[search.Reader](s.store, "list indexes")
	if err != nil {
		return nil, err
	}
	return reader.Indexes(ctx)
}

// storedDocuments yields the entries of listed documents of an index.
func (s *documentSink) storedDocuments(
	index string, listed iter.Seq2[search.ListedDocument, error],
) iter.Seq2[Entry, error] {
	d := new(digester)
	documentEntry := func(dst []Entry, doc *search.ListedDocument) ([]Entry, error) {
		foreign := s.foreignBirthOf(doc.Doc) + doc.DifferingCopy // if not "", no planned document has this digest
		digest, err := d.documentDigest(doc.Doc, foreign)
		if err != nil {
			return nil, err
		}
		e := Entry{Kind: Document, Place: documentPlace(index, doc.Routing, doc.ID), Version: doc.Version, Digest: digest}
		isMaskedKey := s.mask != nil && strings.Contains(string(doc.Item), maskedPrefix)
		if !isMaskedKey {
			e.Item = doc.Item
		}
		return append(dst, e), nil
	}
	return storedEntries(s.spec.Name+": index "+index, listed, documentEntry)
}

// foreignBirthOf describes the birth in a document if another output of the sink wrote the document. Otherwise it
// returns "". A birth is the recorded identity of an output.
func (s *documentSink) foreignBirthOf(doc []byte) string { return s.foreignBirth(birthOf(doc)) }

// birthOf returns the birth in a document; "" if it has none.
func birthOf(doc []byte) string {
	c := jsoncursor.New(doc)
	for name := range c.Members() {
		if string(name) != reservedField {
			continue
		}
		for field := range c.Members() {
			if string(field) == "birth" {
				return string(c.Text())
			}
		}
		break
	}
	return ""
}

// comparedDocument is a document to compare, with its planned contents.
type comparedDocument struct {
	index, routing, id string
	placeText          string // index and id, for people
	expected           bool
	doc                []byte // the document, if it is expected
}

// place returns the place of the document.
func (p *comparedDocument) place() string { return documentPlace(p.index, p.routing, p.id) }

// Compare compares the documents of an item with the plan.
func (s *documentSink) Compare(ctx context.Context, known *ItemState, places []Entry) ([]Finding, error) {
	c := known.change()
	docs, err := s.plannedDocuments(c)
	if err != nil {
		return s.unplannable(ctx, known, err)
	}
	for _, e := range places {
		isPlanned := func(d comparedDocument) bool { return d.place() == e.Place }
		if e.Kind != Document || slices.ContainsFunc(docs, isPlanned) {
			continue
		}
		unplanned, err := s.unplannedDocument(e.Place)
		if err != nil {
			return nil, err
		}
		docs = append(docs, unplanned)
	}
	findings := make([]Finding, len(docs))
	for i := range docs {
		if findings[i], err = s.compareDocument(ctx, &docs[i]); err != nil {
			return nil, fmt.Errorf("%s: document %s: %w", s.spec.Name, docs[i].placeText, err)
		}
	}
	return s.completeFindings(ctx, known, findings)
}

// unplannedDocument returns the document at a place that no plan names.
func (s *documentSink) unplannedDocument(place string) (d comparedDocument, err error) {
	d.index, d.routing, d.id, err = parseDocumentPlace(place)
	d.placeText = s.mask.Text(d.index + "/" + d.id) // the name of the index may have a sensitive value, too
	return d, err
}

// plannedDocuments returns the documents that the plans of an item name; none if c is nil.
func (s *documentSink) plannedDocuments(c *record.Change) ([]comparedDocument, error) {
	if c == nil {
		return nil, nil
	}
	ops, maskedOps, err := s.documentOps(c)
	if err != nil {
		return nil, err
	}
	var docs []comparedDocument
	for i, op := range ops {
		m, ok := op.(*search.Mutation)
		if !ok {
			continue
		}
		d := comparedDocument{index: m.Index, routing: m.Routing, id: m.ID, placeText: m.Index + "/" + s.mask.Text(m.ID),
			expected: !m.Tombstone, doc: m.Doc}
		if i < len(maskedOps) { // otherwise the masked plan failed, and the whole id is masked
			if masked, ok := maskedOps[i].(*search.Mutation); ok {
				d.placeText = masked.Index + "/" + masked.ID
			}
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// documentOps returns the planned ops of an item, or those of its removal if the item has no place in the sink.
// maskedOps are the same ops with masked texts. There are none if the masked plan fails.
func (s *documentSink) documentOps(c *record.Change) (ops, maskedOps []pipeline.Op, err error) {
	if !c.Removed() {
		if ops, err = s.planner.ops(c); err != nil {
			return nil, nil, err
		}
		maskedOps, _ = s.maskedPlanner.ops(c)
	}
	if len(ops) == 0 {
		ops, maskedOps = s.planner.removalOps(c), s.maskedPlanner.removalOps(c)
	}
	return ops, maskedOps, nil
}

// readStored reads what is stored at the place of a document.
func (s *documentSink) readStored(ctx context.Context, index, routing, id string) (search.StoredDocument, error) {
	inspector, err := storeAs[search.Inspector](s.store, "read single documents")
	if err != nil {
		return search.StoredDocument{}, err
	}
	return inspector.ReadStored(ctx, index, id, routing)
}

// compareDocument compares a stored document with the planned document.
func (s *documentSink) compareDocument(ctx context.Context, p *comparedDocument) (Finding, error) {
	stored, err := s.readStored(ctx, p.index, p.routing, p.id)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Kind: Document, Place: p.place(), PlaceText: p.placeText, Expected: p.expected, Version: stored.Version,
		Verdict: Equal}
	isLive := stored.Exists && !stored.Tombstone
	switch {
	case isLive:
		f.FoundText = "a document"
	case stored.Tombstone:
		f.FoundText = "a tombstone"
	default:
		f.FoundText = "nothing"
	}

	switch {
	case p.expected && isLive:
		names, err := s.differingFields(stored.Doc, p.doc)
		if err != nil {
			return Finding{}, err
		}
		f.setDifferences(names, stored.DifferingCopy)
	case p.expected:
		f.Verdict = Missing
	case isLive:
		f.Verdict = Extra
	}
	return f, nil
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
	if s.foreignBirthOf(have) != "" {
		names = append(names, reservedField)
	}
	return names, nil
}

// sameJSON reports whether two JSON values are equal, whatever their spelling. nil means that there is no value.
func sameJSON(a, b json.RawMessage) (bool, error) {
	if a == nil || b == nil {
		return a == nil && b == nil, nil
	}
	x, err := canonicalForm(a)
	if err != nil {
		return false, err
	}
	y, err := canonicalForm(b)
	return string(x) == string(y), err
}
