package configtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// flags are the flags of `test`.
type flags struct {
	config     string
	runPattern string
	update     bool
	verbose    bool
	format     cli.Format
}

// New is the command test.
func New(s cli.Streams) *cobra.Command {
	var o flags
	c := &cobra.Command{
		Use:   "test -c FILE [PATH...]",
		Short: "Run the tests of a configuration",
		Long: `test runs the tests in *_test.yaml files. A test has changes, and the rows, documents, objects,
events, drops and dead letters that are expected from them. Each test runs the whole pipeline with
empty embedded stores. PATH is a file or a folder; default: the folder of the configuration.

A test looks like this. --update can write its expectations:

  keys: [PK, SK]                 # key attributes of the source table
  tests:
    - name: a paid order stands under its status
      given:
        - new: {PK: USER#1, SK: ORDER#1, Type: Order, Status: paid, Total: 10.50}
      expect:
        rows:
          orders_by_status:      # a sink, or a table: all the rows that stand there
            - {PK: STATUS#paid, SK: 'USER%231,ORDER%231', total: 10.5}`,
		Example: `  tablewake test -c tablewake.yaml
  tablewake test -c tablewake.yaml --run 'order|refund' -v
  tablewake test -c tablewake.yaml orders_test.yaml --update`,
		RunE: func(c *cobra.Command, args []string) error { return o.runTests(c.Context(), s, args) },
	}
	cli.AddConfig(c, &o.config)
	f := c.Flags()
	f.StringVar(&o.runPattern, "run", "", "only tests whose names match this regular expression")
	f.BoolVar(&o.update, "update", false, "replace the expectations that fail with the actual results")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "also name the tests that pass")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *flags) runTests(ctx context.Context, s cli.Streams, paths []string) error {
	wanted, err := regexp.Compile(o.runPattern)
	if err != nil {
		return cli.Usagef("--run: %w", err)
	}
	cfg, err := cli.LoadConfig(o.config)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		paths = []string{filepath.Dir(cfg.File)}
	}
	names, err := testFiles(paths)
	if err != nil {
		return err
	}
	files := make([]*File, len(names))
	var problems config.Problems
	for i, name := range names {
		f, err := Load(name, cfg)
		ps, bad := errors.AsType[config.Problems](err)
		switch {
		case bad:
			problems = append(problems, ps...)
		case err != nil:
			return err
		}
		files[i] = f
	}
	if len(problems) > 0 {
		return cli.WithExitCode(cli.ExitConfig, problems)
	}
	goCode := s.HoldCustomForPlan(cfg, "test")
	failed, ran := 0, 0
	for _, f := range files {
		n, bad, err := o.runFile(ctx, s, cfg, f, wanted, goCode)
		if err != nil {
			return err
		}
		ran, failed = ran+n, failed+bad
	}
	switch {
	case ran == 0:
		return fmt.Errorf("no test has a name that matches --run %s", o.runPattern)
	case failed > 0:
		return cli.WithExitCode(cli.ExitFailure, nil)
	}
	return nil
}

// testFiles returns the files of tests that paths name, sorted and without duplicates. A folder names its *_test.yaml.
func testFiles(paths []string) ([]string, error) {
	var names []string
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, cli.Usagef("there is no %s: name files of tests, or folders of *_test.yaml", p)
		case err != nil:
			return nil, err
		case !info.IsDir():
			names = append(names, p)
			continue
		}
		inFolder, err := testFilesIn(p)
		if err != nil {
			return nil, err
		}
		names = append(names, inFolder...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// testFilesIn returns the files of tests in a folder, which must have one.
func testFilesIn(folder string) (names []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), "_test.yaml") {
			names = append(names, filepath.Join(folder, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, cli.Usagef("%s holds no *_test.yaml; see `tablewake test --help` for what stands in one", folder)
	}
	return names, nil
}

// runFile runs the tests of one file, and returns how many ran and failed.
func (o *flags) runFile(ctx context.Context, s cli.Streams, cfg *config.Config, f *File, wanted *regexp.Regexp,
	goCode sinks.Option) (ran, failed int, err error) {
	w := s.Out
	cases := slices.DeleteFunc(slices.Clone(f.Cases), func(c *Case) bool { return !wanted.MatchString(c.Name) })
	results := Run(ctx, cfg, cases, goCode)
	if ctx.Err() != nil {
		return 0, 0, cli.WithExitCode(cli.ExitInterrupted, errors.New("interrupted"))
	}
	var updated []*Case
	if o.update {
		if updated, err = f.Update(cfg, results); err != nil {
			return 0, 0, err
		}
	}
	for _, r := range results {
		if r.File = f.Path; slices.Contains(updated, r.Case) {
			r.Outcome, r.Differences, r.Letters = "updated", nil, nil
		}
		if r.Outcome == "fail" {
			failed++
		}
		if err := o.printResult(w, r); err != nil {
			return 0, 0, err
		}
	}
	switch n := cli.Count(len(results), "test"); {
	case o.format != cli.FormatText || len(results) == 0:
	case failed > 0:
		fmt.Fprintf(w, "FAIL\t%s\t%d of %s failed\n", f.Path, failed, n)
	default:
		fmt.Fprintf(w, "ok\t%s\t%s\n", f.Path, n)
	}
	return len(results), failed, nil
}

// printResult prints the result of one test.
func (o *flags) printResult(w io.Writer, r *Result) error {
	switch {
	case o.format == cli.FormatJSON:
		return cli.WriteJSON(w, r)
	case r.Outcome == "updated":
		fmt.Fprintf(w, "--- UPDATED: %s\n", r.Name)
	case r.Outcome == "pass" && o.verbose:
		fmt.Fprintf(w, "--- PASS: %s (%.2fs)\n", r.Name, r.Seconds)
	case r.Outcome == "fail":
		fmt.Fprintf(w, "--- FAIL: %s\n", r.Name)
		if r.Error != "" {
			fmt.Fprintf(w, "    %s:%d: %s\n", r.File, r.Line, r.Error)
		}
		for _, d := range r.Differences {
			fmt.Fprintf(w, "    %s:%d: %s (- wanted, + came):\n", r.File, d.Line, d.Where)
			for _, line := range d.Lines {
				fmt.Fprintf(w, "      %s\n", line)
			}
		}
		for _, l := range r.Letters {
			fmt.Fprintf(w, "    dead letter: %s\n", l)
		}
	}
	return nil
}
