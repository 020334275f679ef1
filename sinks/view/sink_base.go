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

// base is the common part of views and aggregates: the target of their rows, and the templates of row keys.
type base struct {
	target    Target
	pk, sk    Attribute
	when      pipeline.ItemCondition // nil if every item matches
	mask      *mask.Mask
	masksKey  bool // row keys may have masked parts
	retention state.Retention
	readsItem bool // the condition, a template or a value reads attributes of the item

	noTTLDeletes bool // the sink receives no TTL deletes
}

var (
	_ pipeline.KeyOrderer   = (*base)(nil)
	_ pipeline.EventIgnorer = (*base)(nil)
	_ pipeline.Guarded      = (*base)(nil)
)

// Target returns the sink's description for its store.
func (b *base) Target() Target { return b.target }

// KeepsKeyOrder returns true, because an older write that arrives after a newer one changes nothing.
func (b *base) KeepsKeyOrder() bool { return true }

// IgnoresEvents returns true, because rows do not depend on detected events.
func (b *base) IgnoresEvents() bool { return true }

// Guarded returns true, because each write is conditional on a version.
func (b *base) Guarded() bool { return true }

// appendKeyParts evaluates the two parts of the row key and appends them to text. If one of them is missing, the item
// is sparse, and the returned pk is missing. limit is the maximum length of the partition key, in bytes.
func (b *base) appendKeyParts(text []byte, scope *template.Scope, limit int) (pk, sk keyPart, _ []byte, err error) {
	pk, text, err = appendKeyPart(text, b.pk, scope, limit)
	hasSK := b.sk.Template != nil
	if err != nil || pk.isMissing() || !hasSK {
		return pk, keyPart{}, text, err
	}
	sk, text, err = appendKeyPart(text, b.sk, scope, maxSortKey)
	if err != nil || sk.isMissing() {
		return keyPart{}, keyPart{}, text, err
	}
	return pk, sk, text, nil
}

// displayKey returns the text of a row's key with masked parts, for people; "" if no part is masked. The mask does not
// change the stored key.
func (b *base) displayKey(scope template.Scope) string {
	_, hidesItemKey := b.mask.HiddenKey(scope.Change)
	if !b.masksKey && !hidesItemKey {
		return ""
	}
	scope.Mask = b.mask
	pk, _, _ := b.pk.Template.Value(scope) // no error: the key was made by the same template
	var sk item.Value
	if b.sk.Template != nil {
		sk, _, _ = b.sk.Template.Value(scope)
	}
	return b.target.keyText(pk, sk)
}

// maskKey masks the key of an item as a whole.
func (b *base) maskKey(key item.Key) item.Key { return item.Key(b.mask.Text(string(key))) }

// newImage returns the new image of a change that did not remove the item. If the sink needs the image and the change
// has none, newImage returns an error. why is the part of the error's text that says why the image is needed.
func (b *base) newImage(c *record.Change, why string) (item.Image, error) {
	if b.readsItem && !c.New.Exists() {
		return item.Image{}, missingImageError(c, "a new", why,
			record.NewImage.String()+" or "+record.NewAndOldImages.String())
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

// missingImageError returns the error of a change without an image that the sink needs.
func missingImageError(c *record.Change, image, why, viewType string) error {
	return errs.Errorf("%s without %s image, and %s: the stream's view type must be %s", redact.Safe(c.Op.String()),
		redact.Safe(image), redact.Safe(why), viewType)
}
