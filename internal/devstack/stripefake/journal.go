package stripefake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// journal is a file with a change in each line.
type journal struct{ file *os.File }

// openJournal applies what the file holds. A last line without an end was being written when the process was killed.
func openJournal(path string, s *state) (*journal, error) {
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := raw[:bytes.LastIndexByte(raw, '\n')+1]
	for line := range bytes.Lines(whole) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		s.apply(r)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Seek(int64(len(whole)), 0)
	if err = errors.Join(err, file.Truncate(int64(len(whole)))); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &journal{file}, nil
}

// write hands a change to the operating system, so that it outlives the process.
func (j *journal) write(r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

func (j *journal) close() error { return j.file.Close() }
