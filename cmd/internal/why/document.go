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
func (l *look) search(ctx context.Context, store search.Store) error {
	in, ok := store.(search.Inspector)
	if !ok {
		l.out.Says = "its store cannot be looked into"
		return nil
	}
	for i, op := range l.plans() {
		m, ok := op.(*search.Mutation)
		if !ok {
			continue
		}
		st, err := in.Stands(ctx, m.Index, m.ID, m.Routing)
		if err != nil {
			return err
		}
		p := Place{Kind: "document", Where: l.document(i, m), Version: versionText(st.Version)}
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
				return fmt.Errorf("document %s: %w", l.document(i, m), err)
			}
			p.Verdict = sameUnless(p.Differs)
		}
		l.out.Places = append(l.out.Places, p)
	}
	return nil
}

// document is where a document is, as people may see it: as a sink that may hold
// nothing sensitive would have it.
func (l *look) document(i int, m *search.Mutation) string {
	if i < len(l.shown) {
		if shown, ok := l.shown[i].(*search.Mutation); ok {
			return shown.Index + "/" + shown.ID
		}
	}
	return m.Index + "/" + l.Mask.Text(m.ID)
}

// differingFields names the top-level fields that two documents do not share, but for
// _tw, which says at which version they were written.
func differingFields(have, want []byte) ([]string, error) {
	var h, w map[string]json.RawMessage
	if err := json.Unmarshal(have, &h); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(want, &w); err != nil {
		return nil, err
	}
	delete(h, "_tw")
	delete(w, "_tw")
	all := maps.Clone(h)
	maps.Copy(all, w)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		same, err := sameJSON(h[name], w[name])
		if err != nil {
			return nil, err
		}
		if !same {
			names = append(names, name)
		}
	}
	return names, nil
}

// sameJSON compares two values by meaning; numbers by their digits.
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
