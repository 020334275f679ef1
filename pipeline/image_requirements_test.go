package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tablewake/tablewake/pipeline/record"
)

// needy is a filter that needs images.
type needy struct {
	FilterFunc
	needs Needs
}

var _ Requirer = needy{}

func (n needy) Requires() Needs { return n.needs }
func (n needy) Name() string    { return "needy" }

// Fact 13: StreamViewType is KEYS_ONLY, NEW_IMAGE, OLD_IMAGE or NEW_AND_OLD_IMAGES. If the view type lacks an image
// that a stage needs, the run ends with a clear error at the first record, instead of a nil image later.
func TestFact13_ViewTypeLacksAnImage(t *testing.T) {
	keep := FilterFunc(func(*record.Change) (Verdict, error) { return Verdict{}, nil })
	for _, test := range []struct {
		needs Needs
		view  record.ViewType
		want  string // "": the run works
	}{
		{Needs{Old: true}, record.NewImage, "NEW_AND_OLD_IMAGES"},
		{Needs{Old: true}, record.KeysOnly, "NEW_AND_OLD_IMAGES"},
		{Needs{New: true}, record.KeysOnly, "StreamViewType NEW_IMAGE"},
		{Needs{New: true}, record.OldImage, "NEW_AND_OLD_IMAGES"},
		{Needs{Old: true, New: true}, record.OldImage, "old and new images"},
		{Needs{Old: true, New: true}, record.NewAndOldImages, ""},
		{Needs{Old: true, New: true}, record.ViewUnknown, ""},
		{Needs{New: true}, record.NewImage, ""},
		{Needs{}, record.KeysOnly, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &recorder{}
			p := newPipeline(t, s, func(o *Options) { o.Routes[0].Filters = []Filter{needy{keep, test.needs}} })
			page := pageOf(map[string]int{}, "p", 1, "a")
			page.Changes[0].ViewType = test.view
			page.Changes[0].StreamARN = "arn:aws:dynamodb:eu-west-1:1:table/shop/stream/x"
			err := p.Run(t.Context(), endlessUnless(test.want != "", page), nil)
			if test.want == "" {
				if err != nil || len(s.all()) != 1 {
					t.Errorf("%+v over %v: %v, written %v", test.needs, test.view, err, s.all())
				}
				return
			}
			v, ok := errors.AsType[*ViewTypeError](err)
			if !ok || len(s.all()) != 0 {
				t.Fatalf("%+v over %v: %v, written %v", test.needs, test.view, err, s.all())
			}
			for _, want := range []string{test.want, `filter "needy" of route "s"`, page.Changes[0].StreamARN, test.view.String()} {
				if !strings.Contains(v.Error(), want) {
					t.Errorf("%q does not name %q", v, want)
				}
			}
		})
	}
}

// endlessUnless returns an endless source if an error is to end the run, and otherwise a source that ends after the
// page.
func endlessUnless(stops bool, page *Page) Source {
	if stops {
		return endless(page)
	}
	return pages(nil, page)
}

// Fact 13: CheckView returns a clear error if the view type lacks an image that a stage needs, before the first record
// is read.
func TestFact13_ViewIsCheckedBeforeTheFirstRecord(t *testing.T) {
	p, err := New(Options{Name: "shop", Filters: []Filter{needy{needs: Needs{Old: true}}}, Routes: []Route{{Name: "all", Sink: SinkFunc(func(context.Context, []Delivery) error { return nil })}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckView(record.NewAndOldImages, "arn"); err != nil {
		t.Error(err)
	}
	if e, ok := errors.AsType[*ViewTypeError](p.CheckView(record.KeysOnly, "arn")); !ok || e.StreamARN != "arn" {
		t.Errorf("KEYS_ONLY gives %v", e)
	}
}
