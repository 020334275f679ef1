package bleve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveindex "github.com/blevesearch/bleve_index_api"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// index is one open Bleve index.
//
// Lock order: an id is claimed before mu is taken. mu is held for reading by who
// uses the index, and for writing by who opens it anew or closes it.
type index struct {
	path   string
	opened disk.Opened
	claims claims

	mu     sync.RWMutex
	bleve  bleve.Index // nil when closed
	broken bool        // a batch failed: memory may show what the disk does not hold
}

// lockWait is how long an index waits for another process that has it open.
const lockWait = "3s"

// format is the layout of an index, which it keeps beside its documents.
const (
	format    = "2"
	formatKey = "tablewake.format"
)

// createIndex makes an index. It appears whole or not at all.
func createIndex(path string) error {
	making := unfinished(path)
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	b, err := bleve.NewUsing(making, newMapping(), scorch.Name, scorch.Name, map[string]any{"numSnapshotsToKeep": 1})
	if err != nil {
		return err
	}
	if err := errors.Join(b.SetInternal([]byte(formatKey), []byte(format)), b.Close()); err != nil {
		return err
	}
	if err := os.Rename(making, path); err != nil {
		return err
	}
	return linefile.SyncDir(filepath.Dir(path))
}

func openIndex(path string, readOnly bool) (*index, error) {
	b, err := openBleve(path, readOnly)
	if err != nil {
		return nil, err
	}
	opened, err := disk.Opening(path)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &index{path: path, opened: opened, bleve: b}, nil
}

func openBleve(path string, readOnly bool) (bleve.Index, error) {
	b, err := bleve.OpenUsing(path, map[string]any{"read_only": readOnly, "bolt_timeout": lockWait, "numSnapshotsToKeep": 1})
	if err != nil {
		return nil, fmt.Errorf("%w (is it open in another process?)", err)
	}
	is, err := b.GetInternal([]byte(formatKey))
	if err == nil && string(is) != format {
		err = fmt.Errorf("it has the format %q and this tablewake writes %q: fill it again with `tablewake replay --local DIR --fresh` over the whole history, or move it away", is, format)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// use calls do with the open index, opened anew after a batch that failed.
func (ix *index) use(do func(b bleve.Index) error) error {
	ix.mu.RLock()
	if ix.broken {
		ix.mu.RUnlock()
		if err := ix.reopen(); err != nil {
			return err
		}
		ix.mu.RLock()
	}
	defer ix.mu.RUnlock()
	if ix.bleve == nil {
		return errClosed
	}
	return do(ix.bleve)
}

func (ix *index) reopen() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if !ix.broken {
		return nil
	}
	if ix.bleve != nil {
		err := ix.bleve.Close()
		ix.bleve = nil
		if err != nil {
			return disk.Failed(fmt.Errorf("bleve: %w", err))
		}
	}
	b, err := openBleve(ix.path, false)
	if err != nil {
		return disk.Failed(fmt.Errorf("bleve: %w", err))
	}
	ix.bleve, ix.broken = b, false
	return nil
}

func (ix *index) close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.bleve == nil {
		return nil
	}
	b := ix.bleve
	ix.bleve, ix.broken = nil, false
	return b.Close()
}

// apply writes the mutations ms[i] for i in of, all of this index, in one batch,
// and sets their results. An error means that none of them counts.
func (ix *index) apply(ctx context.Context, ms []search.Mutation, of []int, rs []search.Result) error {
	ids := make([]string, len(of))
	for i := range of {
		ids[i] = ms[of[i]].ID
	}
	release, err := ix.claims.take(ctx, ids)
	if err != nil {
		return pipeline.Transient(err)
	}
	defer release()
	if err := ix.opened.There(); err != nil {
		return fmt.Errorf("bleve: %w", err)
	}
	err = ix.use(func(b bleve.Index) error {
		last, err := decide(b, ms, of, rs)
		if err != nil || len(last) == 0 {
			return err
		}
		batch := b.NewBatch()
		for _, i := range last {
			fields, err := fieldsOf(&ms[i])
			if err != nil {
				return fmt.Errorf("bleve: document %s: %w", ms[i].ID, err)
			}
			if err := batch.Index(ms[i].ID, fields); err != nil {
				return fmt.Errorf("bleve: document %s: %w", ms[i].ID, err)
			}
		}
		if err := b.Batch(batch); err != nil {
			return errBatch{err}
		}
		return nil
	})
	if failed, ok := errors.AsType[errBatch](err); ok {
		ix.mu.Lock()
		ix.broken = true
		ix.mu.Unlock()
		return disk.Failed(fmt.Errorf("bleve: write a batch: %w", failed.error))
	}
	return err
}

// errBatch marks a batch that failed.
type errBatch struct{ error }

// decide sets the result of each mutation by the version that stands when it is
// its turn, and returns the last one of each document that is to be written.
func decide(b bleve.Index, ms []search.Mutation, of []int, rs []search.Result) (last map[string]int, err error) {
	reader, err := openReader(b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	last = make(map[string]int)
	for _, i := range of {
		m := &ms[i]
		pending, written := last[m.ID]
		var there pipeline.Version
		var void bool
		if written {
			there, void = ms[pending].Version, ms[pending].Void
		} else {
			var birth string
			if there, birth, void, err = stored(reader, m.ID); err != nil {
				return nil, err
			}
			if !there.IsZero() && birth != m.Birth {
				return nil, state.OtherBirth("", "a document of index "+m.Index, birth, m.Birth)
			}
		}
		order := m.Version.Compare(there)
		if order == 0 && void && !m.Void {
			order = 1
		}
		switch {
		case order < 0:
			rs[i].Outcome = pipeline.Superseded
		case order == 0 && written:
			rs[i].Outcome = pipeline.Coalesced
		case order == 0 && !there.IsZero():
			rs[i].Outcome = pipeline.Written
		default:
			if written {
				rs[pending].Outcome = pipeline.Coalesced
			}
			rs[i].Outcome = pipeline.Written
			last[m.ID] = i
		}
	}
	return last, nil
}

func openReader(b bleve.Index) (bleveindex.IndexReader, error) {
	advanced, err := b.Advanced()
	if err != nil {
		return nil, fmt.Errorf("bleve: %w", err)
	}
	reader, err := advanced.Reader()
	if err != nil {
		return nil, fmt.Errorf("bleve: %w", err)
	}
	return reader, nil
}

// stored is the version and the birth of a document or tombstone, and whether that is void; zero
// where there is none.
func stored(reader bleveindex.IndexReader, id string) (v pipeline.Version, birth string, void bool, err error) {
	fields, err := storedFields(reader, id)
	if err != nil || fields[versionField] == nil {
		return v, "", false, err
	}
	if v, err = pipeline.ParseVersion(string(fields[versionField])); err != nil {
		return v, "", false, fmt.Errorf("bleve: document %s: %w", id, err)
	}
	return v, string(fields[birthField]), fields[voidField] != nil, nil
}

// storedField is a field of a document as it was stored; false where the document
// is missing or has none.
func storedField(reader bleveindex.IndexReader, id, name string) (value []byte, ok bool, err error) {
	fields, err := storedFields(reader, id)
	value, ok = fields[name]
	return value, ok, err
}

// storedFields are the fields of a document that are stored; none where it is missing.
func storedFields(reader bleveindex.IndexReader, id string) (map[string][]byte, error) {
	doc, err := reader.Document(id)
	if err != nil {
		return nil, fmt.Errorf("bleve: document %s: %w", id, err)
	}
	if doc == nil {
		return nil, nil
	}
	fields := make(map[string][]byte)
	doc.VisitFields(func(f bleveindex.Field) { fields[f.Name()] = append([]byte{}, f.Value()...) })
	return fields, nil
}
