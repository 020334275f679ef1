package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/pipeline"
)

// Write writes the planned objects and returns when they are durable.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	for i := range ds {
		ds[i].Change = s.mask.Change(ds[i].Change)
	}
	if s.layout == PerItem {
		return s.writeItems(ctx, ds)
	}
	return s.writeLog(ctx, ds)
}

// writeLog writes one object for each folder. An object that fails, fails the
// changes in it.
func (s *Sink) writeLog(ctx context.Context, ds []pipeline.Delivery) error {
	folders := make(map[string][]int) // deliveries by folder
	for i := range ds {
		if p := planned(&ds[i]); p != nil {
			folders[p.Folder] = append(folders[p.Folder], i)
		}
	}
	var failed pipeline.BatchError
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		of := folders[folder]
		name, body, err := s.object(ds, of)
		if err == nil {
			err = s.store.Put(ctx, folder+name, body)
		}
		if err != nil && !errors.Is(err, ErrExists) {
			for _, i := range of {
				failed.Add(i, err)
			}
		}
	}
	return failed.OrNil()
}

// planned is what Plan made of a delivery.
func planned(d *pipeline.Delivery) *Put {
	if len(d.Ops) != 1 {
		return nil
	}
	p, _ := d.Ops[0].(*Put)
	return p
}

// object makes one object of the deliveries of, in the order of their items and
// versions; one that is there twice is Coalesced. The name is made of the lowest
// and the highest version and of the lines, before compression.
func (s *Sink) object(ds []pipeline.Delivery, of []int) (name string, body []byte, err error) {
	sorted := slices.Clone(of)
	slices.SortStableFunc(sorted, func(i, j int) int {
		a, b := ds[i].Change, ds[j].Change
		return cmp.Or(cmp.Compare(a.Key, b.Key), a.Version.Compare(b.Version))
	})
	var out bytes.Buffer
	encoder, err := s.encoder(&out)
	if err != nil {
		return "", nil, err
	}
	defer s.encoders.Put(encoder)
	digest := sha256.New()
	lines := io.MultiWriter(encoder, digest)
	var line []byte
	var last *pipeline.Change
	first, latest := ds[sorted[0]].Change.Version, ds[sorted[0]].Change.Version
	for _, i := range sorted {
		c := ds[i].Change
		if last != nil && last.Key == c.Key && last.Version == c.Version {
			ds[i].Outcome = pipeline.Coalesced
			continue
		}
		last = c
		if c.Version.Compare(first) < 0 {
			first = c.Version
		}
		if c.Version.Compare(latest) > 0 {
			latest = c.Version
		}
		if line, err = appendLine(line[:0], c, s.images); err != nil {
			return "", nil, err
		}
		if _, err := lines.Write(append(line, '\n')); err != nil {
			return "", nil, fmt.Errorf("archive: compress: %w", err)
		}
	}
	if err := encoder.Close(); err != nil {
		return "", nil, fmt.Errorf("archive: compress: %w", err)
	}
	sum := hex.EncodeToString(digest.Sum(nil)[:16])
	return fmt.Sprintf("%s-%s-%s%s", first, latest, sum, logSuffix), out.Bytes(), nil
}

// encoder is one that is free. It has no goroutines, its output depends on its
// input alone, and its window lets a reader merge many objects in little memory.
func (s *Sink) encoder(out io.Writer) (*zstd.Encoder, error) {
	if e, ok := s.encoders.Get().(*zstd.Encoder); ok {
		e.Reset(out)
		return e, nil
	}
	e, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(512<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("archive: compress: %w", err)
	}
	return e, nil
}

// logSuffix ends the name of every object of a log.
const logSuffix = ".jsonl.zst"

// parallelItems is how many objects of one Write are written at once.
const parallelItems = 16

// writeItems writes one object for each change.
func (s *Sink) writeItems(ctx context.Context, ds []pipeline.Delivery) error {
	errs := make([]error, len(ds))
	var wg sync.WaitGroup
	free := make(chan struct{}, parallelItems)
	for i := range ds {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			errs[i] = s.writeItem(ctx, &ds[i])
		})
	}
	wg.Wait()
	var failed pipeline.BatchError
	for i, err := range errs {
		failed.Add(i, err)
	}
	return failed.OrNil()
}

func (s *Sink) writeItem(ctx context.Context, d *pipeline.Delivery) error {
	p := planned(d)
	if p == nil {
		return nil
	}
	line, err := appendLine(nil, d.Change, s.images)
	if err != nil {
		return err
	}
	err = s.store.Put(ctx, p.Name, append(line, '\n'))
	if !errors.Is(err, ErrExists) {
		return err
	}
	return s.checkSame(ctx, p.Name, d.Change)
}

// checkSame is nil where the object is the change, though perhaps in other bytes:
// one record is written differently by the Streams API and by Lambda.
func (s *Sink) checkSame(ctx context.Context, name string, c *pipeline.Change) error {
	r, err := s.store.Get(ctx, name)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return pipeline.Transient(fmt.Errorf("archive: read %s: %w", name, err))
	}
	there, err := parseLine(bytes.TrimSpace(body), hasTable(c.Key))
	if err != nil {
		return fmt.Errorf("archive: %s: %w", name, err)
	}
	if there.Key != c.Key || there.Version != c.Version {
		return fmt.Errorf("archive: the object %s holds version %s of %s already, and not version %s of %s: let its key name the item and {@version}",
			name, there.Version, there.Key, c.Version, c.Key)
	}
	return nil
}
