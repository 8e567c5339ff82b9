package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Reason is why a child could not be started.
type Reason string

// The reasons. Each reads on behind "the command".
const (
	// NotFound: there is no such file.
	NotFound Reason = "was not found"
	// NotPermitted: the file is not executable, or a folder above it can't be entered.
	NotPermitted Reason = "may not be run: permission denied"
	// Directory: the path names a folder.
	Directory Reason = "is a directory"
	// BadInterpreter: the file exists, but the interpreter or loader that it names does not.
	BadInterpreter Reason = "names an interpreter that was not found"
	// BadFormat: the file is no program for this machine, or a script without a #! line.
	BadFormat Reason = "is no program that this machine can run"
	// BadDir: the folder to run in doesn't exist or can't be entered.
	BadDir Reason = "has no usable folder to run in"
	// BadArgument: an argument or variable holds a NUL byte, or all are too long together.
	BadArgument Reason = "has an argument or variable that can't be passed on"
	// Busy: the file was being written to, for longer than a start is tried again.
	Busy Reason = "is being written to"
	// Resources: the system has no process, descriptor or memory to give.
	Resources Reason = "could not start: the system is out of processes, descriptors or memory"
	// Other is none of these; the error's cause says more.
	Other Reason = "could not start"
)

// StartError says why a child could not be started. Nothing runs then.
type StartError struct {
	// Name is that of the Spec.
	Name string
	// Path is the file that should have run.
	Path   string
	Reason Reason
	// Err is what the system said; nil where Start found out by itself.
	Err error
}

// Error names the child, the file, the reason and what the system said.
func (e *StartError) Error() string {
	text := "the command " + e.Path + " " + string(e.Reason)
	if e.Name != "" {
		text = e.Name + ": " + text
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns what the system said.
func (e *StartError) Unwrap() error { return e.Err }

func (s *Spec) fail(reason Reason, err error) error {
	return &StartError{Name: s.Name, Path: s.Path, Reason: reason, Err: err}
}

// refused turns the error of a failed start into a StartError. The system says little
// ("no such file" for a missing folder, file or interpreter alike), so it looks again.
func (s *Spec) refused(err error) error { return s.fail(s.why(err), err) }

func (s *Spec) why(err error) Reason {
	if s.Dir != "" && !isDir(s.Dir) {
		return BadDir
	}
	switch {
	case isDir(s.file()):
		return Directory
	case errors.Is(err, fs.ErrNotExist) && exists(s.file()):
		return BadInterpreter
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return NotFound
	case errors.Is(err, fs.ErrPermission):
		return NotPermitted
	default:
		return reasonOf(err)
	}
}

func reasonOf(err error) Reason {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return BadFormat
	case errors.Is(err, syscall.E2BIG):
		return BadArgument
	case errors.Is(err, errBusy):
		return Busy
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return Resources
	default:
		return Other
	}
}

// file is the path as the child's folder sees it.
func (s *Spec) file() string {
	if s.Dir == "" || filepath.IsAbs(s.Path) {
		return s.Path
	}
	return filepath.Join(s.Dir, s.Path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
