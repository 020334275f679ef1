package template

import (
	"fmt"
	"io"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/sinks/pushdown"
)

// Options configure what the functions of this package print.
type Options struct {
	Pushdown pushdown.Options
	Runner   policy.Runner // runs the pipeline: Policies prints its rights; a consumer also gets a lease table
	Redrive  bool          // the policies also allow redrives of dead letters

	// Code is the folder or archive with the function's bootstrap. Default: tablewake-lambda.zip
	Code string
	// Environment has the result of [ReadEnvironment].
	Environment []Variable
	// Example adds the resources of deploy/example: tables, a bucket, a build from this tree.
	Example bool
	// Names and Pipeline replace names in ARNs; see [policy.Options].
	Names    map[string]string
	Pipeline string
}

// Filters prints the FilterCriteria of an event source mapping, by which Lambda drops records that no sink needs.
func Filters(w io.Writer, cfg *config.Config, o Options) error {
	plan, err := pushdown.New(cfg, o.Pushdown)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "# What Lambda may drop before it invokes the function for the pipeline %s.\n", cfg.Name)
	for _, line := range comments(plan) {
		fmt.Fprintln(w, "#", line)
	}
	if len(plan.Patterns) == 0 {
		_, err = fmt.Fprintln(w, "FilterCriteria:\n  Filters: []")
		return err
	}
	fmt.Fprintln(w, "FilterCriteria:\n  Filters:")
	for _, p := range plan.Patterns {
		if _, err = fmt.Fprintf(w, "    - Pattern: %s\n", yamlbind.Quoted(p)); err != nil {
			return err
		}
	}
	return nil
}

// comments returns lines that say of each part of a plan whether Lambda evaluates it, and if not, why.
func comments(plan pushdown.Plan) []string {
	var lines []string
	for _, p := range plan.Parts {
		part := p.What
		if p.Line > 0 {
			part = fmt.Sprintf("line %d, %s", p.Line, part)
		}
		lines = append(lines, part+": "+pushedTexts[p.Pushed])
		for _, reason := range p.Left {
			lines = append(lines, "  "+reason)
		}
	}
	for _, p := range plan.Patterns {
		if text, hasText := patternTexts[p]; hasText {
			lines = append(lines, text)
		}
	}
	return lines
}

// pushedTexts say how much of a part Lambda evaluates.
var pushedTexts = map[pushdown.Extent]string{
	pushdown.Whole:    "pushed down; the function drops the same",
	pushdown.Partly:   "pushed down in part; the function drops the rest",
	pushdown.NotAtAll: "not pushed down",
}

// patternTexts explain the patterns that belong to no part.
var patternTexts = map[string]string{
	pushdown.OtherViewType: "the pattern of StreamViewType passes the records of a stream without both images, so that the " +
		"function can refuse it",
	pushdown.OtherOperation: "the pattern of eventName passes the records of operations that are not known, which may show " +
		"no image",
}
