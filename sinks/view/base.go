package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// base is what views and aggregates have in common: where their rows are, and what their keys are made of.
type base struct {
	target    Target
	pk, sk    Attribute
	when      pipeline.ItemCondition // nil: every item
	mask      *mask.Mask
	masksKey  bool // in what is shown
	retention state.Retention
	readsItem bool // a template, a value or the condition reads attributes
}

// Target is the sink as its store sees it.
func (b *base) Target() Target { return b.target }

// KeepsKeyOrder is true: an older write that comes after a newer one loses.
func (b *base) KeepsKeyOrder() bool { return true }

// IgnoresEvents is true.
func (b *base) IgnoresEvents() bool { return true }

// Guarded is true: versions decide.
func (b *base) Guarded() bool { return true }

// keyParts appends the parts of the row key to text. The first one is missing if the item is sparse.
func (b *base) keyParts(text []byte, scope *template.Scope, limit int) (pk, sk piece, _ []byte, err error) {
	pk, text, err = keyPart(text, b.pk, scope, limit)
	if err != nil || pk.missing() || b.sk.Template == nil {
		return pk, sk, text, err
	}
	if sk, text, err = keyPart(text, b.sk, scope, maxSortKey); sk.missing() {
		pk = piece{}
	}
	return pk, sk, text, err
}

// shown is the key of a row as people are shown it, with what is hidden masked; "" if nothing of it is. Whether
// there is a row, and which, was decided without the mask.
func (b *base) shown(scope template.Scope) string {
	if _, hidden := b.mask.HiddenKey(scope.Change); !b.masksKey && !hidden {
		return ""
	}
	scope.Mask = b.mask
	pk, _, _ := b.pk.Template.Value(scope) // it has come to a key before
	var sk item.Value
	if b.sk.Template != nil {
		sk, _, _ = b.sk.Template.Value(scope)
	}
	return string(b.target.appendKey(nil, pk, sk))
}

// after is the item that a row is made of after a change that did not remove it. why says what an error is about.
func (b *base) after(c *record.Change, why string) (item.Image, error) {
	if b.readsItem && !c.New.Exists() {
		return item.Image{}, lacks(c, "a new", why, record.NewImage.String()+" or "+record.NewAndOldImages.String())
	}
	return itemOf(c), nil
}

// itemOf is the new image; the key alone if there is none.
func itemOf(c *record.Change) item.Image {
	if c.New.Exists() {
		return c.New
	}
	return c.Keys
}

func lacks(c *record.Change, image, why, viewType string) error {
	return errs.Errorf("%s without %s image, and %s: the stream's view type must be %s", redact.Safe(c.Op.String()), redact.Safe(image), redact.Safe(why), viewType)
}
