// Package fingerprint keeps the fingerprints of sinks in files beside their output. A fingerprint holds the settings
// that shaped a sink's output. Each sink has one file.
package fingerprint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
	"github.com/tablewake/tablewake/sinks/state"
)

// Folder is the name of the folder with the files. No output of a sink has this name, since an object or an index with
// this name is written with an escape.
const Folder = ".~fingerprints"

// Files keeps fingerprints in [Folder], which is in the folder of the sinks' output.
type Files struct{ dir string }

var _ state.Fingerprints = Files{}

// OpenDir returns the fingerprints beside the output in dir. [Files.SetFingerprint] creates the folder.
func OpenDir(dir string) Files { return Files{filepath.Join(dir, Folder)} }

// Fingerprint returns the fingerprint of a sink's output. It returns false if no fingerprint is stored.
func (f Files) Fingerprint(_ context.Context, pipeline, sink string) (state.Fingerprint, bool, error) {
	b, err := os.ReadFile(f.path(pipeline, sink))
	if errors.Is(err, fs.ErrNotExist) {
		return state.Fingerprint{}, false, nil
	}
	var p state.Fingerprint
	if err == nil {
		p, err = state.ParseFingerprint(b, f.path(pipeline, sink))
	}
	if err != nil {
		return state.Fingerprint{}, false, fmt.Errorf("fingerprint of sink %s: %w", sink, err)
	}
	return p, true, nil
}

// SetFingerprint replaces the file of p's sink atomically.
func (f Files) SetFingerprint(_ context.Context, p state.Fingerprint) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("fingerprint of sink %s: %w", p.Sink, err)
	}
	err = private.MkdirAll(f.dir)
	if err == nil {
		err = private.WriteFile(f.path(p.Pipeline, p.Sink), "", append(b, '\n'))
	}
	if err == nil {
		err = linefile.SyncDir(filepath.Dir(f.dir))
	}
	if err != nil {
		return disk.Classify(fmt.Errorf("fingerprint of sink %s: %w", p.Sink, err))
	}
	return nil
}

// path returns the path of the file of one sink.
func (f Files) path(pipeline, sink string) string {
	return filepath.Join(f.dir, url.QueryEscape(pipeline)+"@"+url.QueryEscape(sink)+".json")
}
