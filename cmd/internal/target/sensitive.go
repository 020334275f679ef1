package target

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/private"
)

// sensitiveFile names, in a --local folder, the attributes that were sensitive in a
// configuration that wrote it, a pattern a line. What dead letters hold of them stays
// sensitive when a later configuration says no more of it.
const sensitiveFile = "sensitive.txt"

// rememberSensitive adds what is sensitive in cfg to what the folder remembers.
func rememberSensitive(dir string, cfg *config.Config) error {
	known, err := sensitiveIn(dir)
	if err != nil {
		return err
	}
	all := slices.Clone(known)
	for _, p := range cfg.Sensitive {
		if !slices.Contains(all, p.String()) {
			all = append(all, p.String())
		}
	}
	if len(all) == len(known) {
		return nil
	}
	return private.WriteFile(filepath.Join(dir, sensitiveFile), filepath.Join(dir, "."+sensitiveFile), []byte(strings.Join(all, "\n")+"\n"))
}

// sensitiveIn are the patterns that a folder remembers.
func sensitiveIn(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, sensitiveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' }), err
}

// FolderMask hides what a folder remembers as sensitive, under a key that nobody
// keeps: no secret is needed to look into a folder, and the texts are equal for equal
// values within one output only.
func FolderMask(dir string) (*mask.Mask, error) {
	texts, err := sensitiveIn(dir)
	if err != nil {
		return nil, err
	}
	var ps []item.Pattern
	for _, text := range texts {
		p, err := item.ParsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, sensitiveFile), err)
		}
		ps = append(ps, p)
	}
	key := make([]byte, 32)
	rand.Read(key)
	return mask.New(ps, key)
}
