package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// provenanceFile is the name of the file that states the origin of a release.
const provenanceFile = "provenance.intoto.json"

// statement is an in-toto statement with a SLSA provenance, version 1. It is not signed. The publisher of the release
// signs the file, or its checksum. It has no time, so that it is reproducible.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

// subject is a file of the release with its digest.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		ResolvedDependencies []dependency      `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// dependency is an input of the build: the sources at a commit.
type dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

// writeProvenance writes the statement about the files in o.out with these names.
func writeProvenance(ctx context.Context, root string, o options, names []string) error {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range slices.Sorted(slices.Values(names)) {
		b, err := os.ReadFile(filepath.Join(o.out, name))
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, subject{name, map[string]string{"sha256": fmt.Sprintf("%x", sha256.Sum256(b))}})
	}
	build := &s.Predicate.BuildDefinition
	build.BuildType = "https://" + modulePath + "/deploy/release"
	build.ExternalParameters = map[string]string{"command": "go run ./deploy/release", "version": o.version,
		"only": o.only}
	sources := dependency{URI: "git+https://" + modulePath}
	if commit := gitCommit(ctx, root); commit != "" {
		sources.Digest = map[string]string{"gitCommit": commit}
	}
	build.ResolvedDependencies = []dependency{sources}
	builder := &s.Predicate.RunDetails.Builder
	builder.ID = "https://" + modulePath + "/deploy/release"
	builder.Version = map[string]string{"go": runtime.Version()}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, provenanceFile), b.Bytes(), 0o644)
}

// gitCommit returns the commit of the sources. It returns "" without git, or if the sources have changes that are not
// committed.
func gitCommit(ctx context.Context, root string) string {
	commit, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return ""
	}
	if changes, err := git(ctx, root, "status", "--porcelain", "--untracked-files=no"); err != nil || changes != "" {
		return ""
	}
	return commit
}
