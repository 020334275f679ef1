// Package config reads tablewake.yaml: one strict YAML 1.2 file that describes a pipeline for all ways of running it.
//
// [Load] and [Parse] return a [Config] from which a pipeline can be built. Templates and expressions are compiled,
// sizes and durations are numbers, and names refer to things that exist. No filter can drop a delete that a sink needs.
// All errors of a file are returned at once, as [Problems], each with its line, column, field and a hint.
//
// [ParseFrom] calls Read of package yamlbind. Read binds each key to its field, reads scalars by the functions of
// scalar_kinds.go, and calls the Made methods. checkRules then checks the rules between keys (rules*.go). settingsOf
// lists the settings that shape each sink's output. Read config.go, sinks.go and filters_detectors.go for the keys,
// then rules_sinks.go.
//
// A key is declared once: as a field of [Config] or of a struct in it, with tags (yamlbind). Reading, the JSON Schema
// that [Schema] returns, and the settings of a sink use the same tags.
//
// The package imports no sink. sinks.Assemble makes the sinks from a [Config].
package config
