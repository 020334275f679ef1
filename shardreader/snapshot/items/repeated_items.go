package items

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// An item that is in the files twice would be written twice under one version. So no sink could tell which of the two
// is newer, and a view may have a row for each of them.

// keySeed makes the hashes of keys.
var keySeed = maphash.MakeSeed()

// keyHashes has a hash of the key of each item.
type keyHashes []uint64

func (h *keyHashes) add(p *record.Page) {
	for i := range p.Changes {
		*h = append(*h, maphash.String(keySeed, string(p.Changes[i].Key)))
	}
}

// repeated returns the hashes that several items have. It changes the order of h.
func (h keyHashes) repeated() map[uint64]bool {
	repeated := make(map[uint64]bool)
	slices.Sort(h)
	for i := 1; i < len(h); i++ {
		if h[i] == h[i-1] {
			repeated[h[i]] = true
		}
	}
	return repeated
}

// checkRepeated returns an error if an item is in the files twice. It reads the files again if keys have equal hashes.
func (s *Snapshot) checkRepeated(ctx context.Context) error {
	repeated := s.keys.repeated()
	s.keys = nil
	if s.options.Sample || len(repeated) == 0 {
		return nil
	}
	files := make(map[string]string) // by the key of an item with a repeated hash
	for _, part := range s.parts {
		if err := s.findRepeated(ctx, part.ID, repeated, files); err != nil {
			return err
		}
	}
	return nil
}

// findRepeated adds the items of a file with a repeated hash to files. It returns an error if one is there already.
func (s *Snapshot) findRepeated(
	ctx context.Context, file string, repeated map[uint64]bool, files map[string]string,
) (err error) {
	r, err := s.Open(ctx, file, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for page, err := range pipeline.DecodedPages(ctx, r) {
		if err != nil {
			return err
		}
		for i := range page.Changes {
			key := string(page.Changes[i].Key)
			mayBeRepeated := repeated[maphash.String(keySeed, key)]
			if !mayBeRepeated {
				continue
			}
			if first, isRepeated := files[key]; isRepeated {
				shown := s.options.ShowKey(&page.Changes[i])
				return errs.Errorf("two items have the key %s, one in %s, the other in %s: remove the one that the table does "+
					"not have; or, if this is only a part of the table's key, name all key attributes, partition key first",
					shown, first, file)
			}
			files[key] = file
		}
	}
	return nil
}
