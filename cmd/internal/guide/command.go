package guide

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	pages "github.com/tablewake/tablewake/cmd/tablewake/guide"
	"github.com/tablewake/tablewake/pipeline/config"
)

// New is the command guide.
func New(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "guide [TOPIC]",
		Short: "Show a guide, or list the guides",
		Long: `guide shows a guide, or the reference of a command or of tablewake.yaml, as plain text. Without a
topic, it lists the topics. A path in a guide, such as sinks/STORAGE.md, is a document in
tablewake's repository.`,
		Example: `  tablewake guide
  tablewake guide start
  tablewake guide upgrade | less
  tablewake guide reference | less`,
		ValidArgs: topics(),
		Args:      cli.ArgumentRange(0, 1, "[TOPIC]"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return writeTopics(s.Out)
			}
			if !slices.Contains(topics(), args[0]) {
				return cli.Usagef("%w", cli.UnknownName(fmt.Sprintf("there is no guide %q", args[0]), args[0], topics()))
			}
			text, err := markdownOf(args[0])
			if err != nil {
				return err
			}
			_, err = io.WriteString(s.Out, render(text, path.Dir(documentPath(args[0]))))
			return err
		},
	}
}

// referenceTopic is the topic of the configuration's reference.
const referenceTopic = "reference"

// references returns the topics that are references.
func references() []string { return append(pages.References(), referenceTopic) }

// topics returns all topics, the guides first.
func topics() []string { return append(pages.Topics(), references()...) }

// documentPath returns the path of a topic's document in the repository.
func documentPath(topic string) string {
	if topic == referenceTopic {
		return "pipeline/config/README.md"
	}
	return "cmd/tablewake/guide/" + topic + ".md"
}

// markdownOf returns the Markdown of a topic.
func markdownOf(topic string) (string, error) {
	if topic == referenceTopic {
		return config.Reference(), nil
	}
	b, err := pages.Files.ReadFile(topic + ".md")
	return string(b), err
}

// writeTopics writes each topic with the first sentence of its text.
func writeTopics(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, topic := range topics() {
		text, err := markdownOf(topic)
		if err != nil {
			return err
		}
		if i == len(pages.Topics()) {
			fmt.Fprintln(tw, "\nReferences:")
		}
		fmt.Fprintf(tw, "%s\t%s\n", topic, firstSentence(text))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\n`tablewake guide TOPIC` shows one.")
	return err
}

// sentenceEnd matches a period that ends a sentence: a capital letter follows. It does not match the period of "3 a.m.
// today".
var sentenceEnd = regexp.MustCompile(`\. [A-Z\[]`)

// firstSentence returns the first sentence below the title of a page.
func firstSentence(text string) string {
	_, body, _ := strings.Cut(text, "\n\n")
	paragraph, _, _ := strings.Cut(body, "\n\n")
	paragraph = strings.Join(strings.Fields(paragraph), " ")
	if end := sentenceEnd.FindStringIndex(paragraph); end != nil {
		return paragraph[:end[0]+1]
	}
	return paragraph
}
