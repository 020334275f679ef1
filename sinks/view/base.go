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

// base is the common part of views and aggregates: where their rows are stored, and what row keys are made of.
type base struct {
	target    Target
	pk, sk    Attribute
	when      pipeline.ItemCondition // nil: every item
	mask      *mask.Mask
	masksKey  bool // row keys may have masked parts
	retention state.Retention
	readsItem bool // a template, a value or the condition reads attributes

	noTTLDeletes bool // the sink receives no TTL deletes
}

// Target returns the sink's description for its store.
func (b *base) Target() Target { return b.target }

// KeepsKeyOrder returns true: if an older write arrives after a newer one, it changes nothing.
func (b *base) KeepsKeyOrder() bool { return true }

// IgnoresEvents returns true: rows do not depend on detected events.
func (b *base) IgnoresEvents() bool { return true }

// Guarded returns true: each write is conditional on a version.
func (b *base) Guarded() bool { return true }

// appendKeyParts evaluates the parts of the row key and appends them to text. The first part is missing if any part
// is: the item is sparse.
func (b *base) appendKeyParts(text []byte, scope *template.Scope, limit int) (pk, sk keyPart, _ []byte, err error) {
	pk, text, err = appendKeyPart(text, b.pk, scope, limit)
	if err != nil || pk.missing() || b.sk.Template == nil {
		return pk, sk, text, err
	}
	if sk, text, err = appendKeyPart(text, b.sk, scope, maxSortKey); sk.missing() {
		pk = keyPart{}
	}
	return pk, sk, text, err
}

// displayKey returns the text of a row's key with masked parts, for people; "" if no part is masked. The mask has
// no influence on the stored key.
func (b *base) displayKey(scope template.Scope) string {
	if _, hidden := b.mask.HiddenKey(scope.Change); !b.masksKey && !hidden {
		return ""
	}
	scope.Mask = b.mask
	pk, _, _ := b.pk.Template.Value(scope) // the key was made of it before
	var sk item.Value
	if b.sk.Template != nil {
		sk, _, _ = b.sk.Template.Value(scope)
	}
	return string(b.target.appendKey(nil, pk, sk))
}

// newImage returns the image of an item that the change did not remove. why is for the error: what the image is
// needed for.
func (b *base) newImage(c *record.Change, why string) (item.Image, error) {
	if b.readsItem && !c.New.Exists() {
		return item.Image{}, lacks(c, "a new", why, record.NewImage.String()+" or "+record.NewAndOldImages.String())
	}
	return itemOf(c), nil
}

// itemOf returns the new image; the item's key if there is no new image.
func itemOf(c *record.Change) item.Image {
	if c.New.Exists() {
		return c.New
	}
	return c.Keys
}

// lacks returns the error of a change without an image that the sink needs.
func lacks(c *record.Change, image, why, viewType string) error {
	return errs.Errorf("%s without %s image, and %s: the stream's view type must be %s", redact.Safe(c.Op.String()), redact.Safe(image), redact.Safe(why), viewType)
}
