package sinks

import (
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
)

// LargeEvents returns the bucket and the folder of events that are too large for a message: those of the first archive,
// else those of dead letters. The bucket is "" if the file has neither.
func LargeEvents(cfg *config.Config) (bucket, folder string) {
	if bucket, folder = archiveFolder(cfg); bucket == "" && cfg.DeadLetters != nil {
		return cfg.DeadLetters.Bucket, Slashed(cfg.DeadLetters.Prefix)
	}
	return bucket, folder
}

// LargeLetters returns the bucket and the folder of dead letters that are too large for a message of the queue: those
// that dead_letters names, else a folder of the first archive's bucket. The bucket is "" if the file has neither.
func LargeLetters(cfg *config.Config) (bucket, folder string) {
	if d := cfg.DeadLetters; d.Bucket != "" {
		return d.Bucket, Slashed(d.Prefix)
	}
	if bucket, folder = archiveFolder(cfg); bucket != "" {
		folder += archive.Fingerprints + "/dead/"
	}
	return bucket, folder
}

// archiveFolder returns the bucket of the first archive that names one, and the archive's folder in it.
func archiveFolder(cfg *config.Config) (bucket, folder string) {
	for _, s := range cfg.Sinks {
		if s.Archive != nil && s.Archive.Bucket != "" {
			return s.Archive.Bucket, archive.Folder(s.Archive.Prefix, s.Archive.Key)
		}
	}
	return "", ""
}

// Slashed returns a prefix of keys with a slash at its end, unless it is "".
func Slashed(prefix string) string {
	if prefix == "" || strings.HasSuffix(prefix, "/") {
		return prefix
	}
	return prefix + "/"
}
