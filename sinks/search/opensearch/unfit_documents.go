package opensearch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/indexmap"
)

// unfitMutation is a mutation that did not fit the index's fields.
type unfitMutation struct {
	position int      // index of the mutation in bulk.mutations
	decided  []string // fields whose types other documents decided
	lags     int      // how often a field in decided did not fit, although all its values have one type
}

// maxLags is how often an unfit mutation is sent again for the same fields at most. lagPause is the wait before each of
// these tries.
const maxLags = 8

var lagPause = pipeline.Backoff{Max: 2 * time.Second}

// sendUnfitAlone sends a mutation alone until it is written, or cannot be written. A lost race means that another
// document has decided the type of one more field. The next try succeeds if the document fits that type. But for a
// moment a busy server may still use an older mapping, and the document loses the race for the same field again. So
// sendUnfitAlone waits before it tries the same field once more.
func (b *bulk) sendUnfitAlone(ctx context.Context, u *unfitMutation) error {
	b.resending, b.again = u, true
	for b.again {
		b.again = false // handleUnfit sets it if the next try may succeed
		if u.lags > 0 {
			if err := pipeline.Sleep(ctx, lagPause.Delay(u.lags-1, 0)); err != nil {
				return pipeline.Transient(err)
			}
		}
		if err := b.sendAll(ctx, []int{u.position}); err != nil {
			return err
		}
	}
	return nil
}

// handleUnfit handles the failure f of the mutation i. After the first attempt the mutation is sent alone. After a
// later one it is sent again if it may fit then; otherwise its error gets a hint.
func (b *bulk) handleUnfit(i int, f *failure) {
	doc := b.mutations[i].Doc
	if b.resending == nil {
		u := unfitMutation{position: i}
		u.noteFailure(f, doc) // it is sent alone in any case
		b.unfit = append(b.unfit, u)
		return
	}
	b.again = b.resending.noteFailure(f, doc)
	if !b.again {
		b.setUnholdableHint(i, f)
	}
}

// noteFailure notes a failure of the mutation with the document doc. mayFit reports whether the next try may succeed,
// because another document decided the type of a field at the same time.
func (u *unfitMutation) noteFailure(f *failure, doc []byte) (mayFit bool) {
	field, isRace := f.lostRace()
	if !isRace {
		return false
	}
	if !slices.Contains(u.decided, field) {
		u.decided = append(u.decided, field)
		return true
	}
	if u.lags == maxLags || !hasOneType(doc, field) {
		return false
	}
	u.lags++
	return true
}

// lostRace returns the field whose type another document decided at the same time. It returns false if the document
// failed for another reason.
func (f *failure) lostRace() (field string, ok bool) {
	field = f.field()
	return field, field != "" && f.reasonContains("cannot be changed from type")
}

// hasOneType reports whether all values of a field have the same type. A document with several types in one new field,
// such as [1, 2.5], fails by itself, and not because of another document.
func hasOneType(doc []byte, field string) bool {
	fields, err := indexmap.Decode(doc)
	types := make(map[string]bool)
	addTypes(types, fields, "", field)
	return err == nil && len(types) == 1
}

// addTypes adds the types of the values that v has at the path field. path is the path of v.
func addTypes(types map[string]bool, v any, path, field string) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			innerPath := strings.TrimPrefix(path+"."+name, ".")
			if innerPath == field || strings.HasPrefix(field, innerPath+".") {
				addTypes(types, inner, innerPath, field)
			}
		}
	case []any:
		for _, element := range v {
			addTypes(types, element, path, field)
		}
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			types["decimal"] = true
		} else {
			types["integer"] = true
		}
	case bool:
		types["boolean"] = true
	case string:
		types["text "+v] = true // some texts are dates
	}
}
