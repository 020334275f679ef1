package guide

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	pages "github.com/tablewake/tablewake/cmd/tablewake/guide"
)

// New is the command guide.
func New(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "guide [TOPIC]",
		Short: "Show a guide, or list the guides",
		Long: `guide shows a guide as plain text. Without a topic it lists the topics. A path in a guide, as
cmd/tablewake/CONSUME.md, is a document of tablewake's repository.`,
		Example: `  tablewake guide
  tablewake guide start
  tablewake guide upgrade | less`,
		ValidArgs: pages.Topics(),
		Args:      cli.ArgumentRange(0, 1, "[TOPIC]"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return list(s.Out)
			}
			if !slices.Contains(pages.Topics(), args[0]) {
				return cli.Usagef("there is no guide %q: `tablewake guide` lists them", args[0])
			}
			text, err := page(args[0])
			if err != nil {
				return err
			}
			_, err = io.WriteString(s.Out, render(text))
			return err
		},
	}
}

// page returns the Markdown of a topic.
func page(topic string) (string, error) {
	b, err := pages.Files.ReadFile(topic + ".md")
	return string(b), err
}

// list writes each topic with its sentence.
func list(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, topic := range pages.Topics() {
		text, err := page(topic)
		if err != nil {
			return err
		}
		fmt.Fprintf(tw, "%s\t%s\n", topic, summary(text))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\n`tablewake guide TOPIC` shows one.")
	return err
}

// summary returns the sentence below the title of a page.
func summary(text string) string {
	_, rest, _ := strings.Cut(text, "\n\n")
	first, _, _ := strings.Cut(rest, "\n\n")
	return strings.Join(strings.Fields(first), " ")
}
