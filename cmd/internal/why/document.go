package why

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/sinks/search"
)

// search compares the documents of the item.
func (sc *sinkComparison) search(ctx context.Context, store search.Store) error {
	in, ok := store.(search.Inspector)
	if !ok {
		sc.out.Note = "its store cannot be looked into"
		return nil
	}
	for i, op := range sc.plannedOps() {
		m, ok := op.(*search.Mutation)
		if !ok {
			continue
		}
		st, err := in.ReadStored(ctx, m.Index, m.ID, m.Routing)
		if err != nil {
			return err
		}
		p := Finding{Kind: "document", Where: sc.document(i, m), Version: versionText(st.Version)}
		switch stands := st.There && !st.Tombstone; {
		case m.Tombstone && stands:
			p.Verdict, p.Found = Leftover, "a document"
		case m.Tombstone && st.Tombstone:
			p.Verdict, p.Found = Gone, "a tombstone"
		case m.Tombstone:
			p.Verdict, p.Found = Gone, "nothing"
		case st.Tombstone:
			p.Verdict, p.Found = Missing, "a tombstone"
		case !stands:
			p.Verdict, p.Found = Missing, "nothing"
		default:
			p.Found = "a document"
			if p.Differs, err = differingFields(st.Doc, m.Doc); err != nil {
				return fmt.Errorf("document %s: %w", sc.document(i, m), err)
			}
			p.Verdict = verdictOf(p.Differs)
		}
		sc.out.Findings = append(sc.out.Findings, p)
	}
	return nil
}

// document returns the masked index and id of a document.
func (sc *sinkComparison) document(i int, m *search.Mutation) string {
	if i < len(sc.shown) {
		if shown, ok := sc.shown[i].(*search.Mutation); ok {
			return shown.Index + "/" + shown.ID
		}
	}
	return m.Index + "/" + sc.Mask.Text(m.ID)
}

// differingFields returns the names of the top-level fields that differ. It ignores _tw, which has the version.
func differingFields(have, want []byte) ([]string, error) {
	var haveFields, wantFields map[string]json.RawMessage
	if err := json.Unmarshal(have, &haveFields); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(want, &wantFields); err != nil {
		return nil, err
	}
	delete(haveFields, "_tw")
	delete(wantFields, "_tw")
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
	return names, nil
}

// sameJSON compares two JSON values. The order of members does not count; numbers are compared by their digits.
func sameJSON(a, b json.RawMessage) (bool, error) {
	if a == nil || b == nil {
		return a == nil && b == nil, nil
	}
	x, err := canonicalJSON(a)
	if err != nil {
		return false, err
	}
	y, err := canonicalJSON(b)
	return bytes.Equal(x, y), err
}

func canonicalJSON(b []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
