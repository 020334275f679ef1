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

// New returns the command `test`.
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
	pattern, err := regexp.Compile(o.runPattern)
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
	files, err := loadFiles(names, cfg)
	if err != nil {
		return err
	}

	run := testRun{flags: o, out: s.Out, cfg: cfg, pattern: pattern, goCode: s.HoldCustomForPlan(cfg, "test")}
	var all []*Result
	for _, f := range files {
		results, err := run.runFile(ctx, f)
		if err != nil {
			return err
		}
		all = append(all, results...)
	}
	if len(all) == 0 {
		return fmt.Errorf("no test has a name that matches --run %s", o.runPattern)
	}
	if countFailed(all) > 0 {
		return cli.WithExitCode(cli.ExitFailure, nil)
	}
	return nil
}

// loadFiles loads files of tests. If files have problems, the error has the problems of all files.
func loadFiles(names []string, cfg *config.Config) (files []*File, err error) {
	var problems config.Problems
	for _, name := range names {
		f, err := Load(name, cfg)
		if fileProblems, ok := errors.AsType[config.Problems](err); ok {
			problems = append(problems, fileProblems...)
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(problems) > 0 {
		return nil, cli.WithExitCode(cli.ExitConfig, problems)
	}
	return files, nil
}

func countFailed(results []*Result) (n int) {
	for _, r := range results {
		if r.Outcome == "fail" {
			n++
		}
	}
	return n
}

// testFiles returns the files of tests, sorted and without duplicates. Each path is a file of tests, or a folder. In a
// folder, the files of tests are named *_test.yaml.
func testFiles(paths []string) ([]string, error) {
	var names []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Usagef("there is no %s: name files of tests, or folders of *_test.yaml", path)
		}
		if err != nil {
			return nil, err
		}
		inPath := []string{path}
		if info.IsDir() {
			if inPath, err = testFilesIn(path); err != nil {
				return nil, err
			}
		}
		names = append(names, inPath...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// testFilesIn returns the files of tests in a folder. It returns an error if there are none.
func testFilesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
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

// testRun is one run of `test`.
type testRun struct {
	*flags
	out     io.Writer
	cfg     *config.Config
	pattern *regexp.Regexp // selects tests by their names
	goCode  sinks.Option   // option for the Go sinks and filters of the configuration
}

// runFile runs the selected tests of one file, prints their results, and returns them.
func (t *testRun) runFile(ctx context.Context, f *File) ([]*Result, error) {
	cases := slices.DeleteFunc(slices.Clone(f.Cases), func(c *Case) bool { return !t.pattern.MatchString(c.Name) })
	results := Run(ctx, t.cfg, cases, t.goCode)
	if ctx.Err() != nil { // some results may be nil
		return nil, cli.WithExitCode(cli.ExitInterrupted, errors.New("interrupted"))
	}
	for _, r := range results {
		r.File = f.Path
	}
	if t.update {
		if err := t.updateFile(f, results); err != nil {
			return nil, err
		}
	}
	if t.format == cli.FormatText {
		t.printResults(f.Path, results)
		return results, nil
	}
	for _, r := range results {
		if err := cli.WriteJSON(t.out, r); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// updateFile replaces the expectations that fail, and sets the results of their cases to updated.
func (t *testRun) updateFile(f *File, results []*Result) error {
	updated, err := f.Update(t.cfg, results)
	if err != nil {
		return err
	}
	for _, r := range results {
		if slices.Contains(updated, r.Case) {
			r.Outcome, r.Differences, r.Letters = "updated", nil, nil
		}
	}
	return nil
}

// printResults prints the results of one file for people.
func (t *testRun) printResults(file string, results []*Result) {
	if len(results) == 0 {
		return
	}
	for _, r := range results {
		t.printResult(r)
	}
	count := cli.Count(len(results), "test")
	if failed := countFailed(results); failed > 0 {
		fmt.Fprintf(t.out, "FAIL\t%s\t%d of %s failed\n", file, failed, count)
	} else {
		fmt.Fprintf(t.out, "ok\t%s\t%s\n", file, count)
	}
}

// printResult prints the result of one test for people.
func (t *testRun) printResult(r *Result) {
	switch r.Outcome {
	case "updated":
		fmt.Fprintf(t.out, "--- UPDATED: %s\n", r.Name)
		return
	case "pass":
		if t.verbose {
			fmt.Fprintf(t.out, "--- PASS: %s (%.2fs)\n", r.Name, r.Seconds)
		}
		return
	}
	fmt.Fprintf(t.out, "--- FAIL: %s\n", r.Name)
	if r.Error != "" {
		fmt.Fprintf(t.out, "    %s:%d: %s\n", r.File, r.Line, r.Error)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(t.out, "    %s:%d: %s (- wanted, + came):\n", r.File, d.Line, d.Where)
		for _, line := range d.Lines {
			fmt.Fprintf(t.out, "      %s\n", line)
		}
	}
	for _, letter := range r.Letters {
		fmt.Fprintf(t.out, "    dead letter: %s\n", letter)
	}
}
