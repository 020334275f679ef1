// Package config reads tablewake.yaml: one strict YAML 1.2 file that describes
// a pipeline for every way to run it.
//
// [Load] and [Parse] promise that what they return can be built: templates and
// expressions are compiled, sizes and durations are numbers, names refer to
// things that exist, and no rule of the file loses a delete. Whatever is wrong
// with a file comes back at once, as [Problems], each with its line, column,
// field and what to do about it.
//
// A key is declared once: as a field of [Config] or of a struct in it, with tags (yamlbind). The strict
// reading, the JSON Schema that [Schema] prints, and the settings of a sink follow them.
//
// The package imports no sink: sinks.Assemble maps its specs to sinks.
package config
