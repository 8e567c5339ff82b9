package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lockWait bounds the wait for another writer.
const lockWait = 10 * time.Second

// rewrite replaces a file by what change makes of it, while no other writer can come
// between. The file is whole at every moment: either as it was, or as it becomes.
func rewrite(file string, create bool, change func(before []byte) ([]byte, error)) error {
	target, err := resolve(file)
	if err != nil {
		return err
	}
	unlock, err := lock(target, lockWait)
	if err != nil {
		return fmt.Errorf("config: %s can't be locked for editing: %w", file, err)
	}
	defer unlock()
	info, err := os.Stat(target)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !(missing && create) {
		return fmt.Errorf("config: %w", err)
	}
	var before []byte
	if !missing {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("config: %s is no regular file", file)
		}
		if before, err = readFile(target); err != nil {
			return err
		}
	}
	after, err := change(before)
	if err != nil {
		return err
	}
	return replace(target, after, info)
}

// resolve follows symbolic links, so that a link stays one.
func resolve(file string) (string, error) {
	target, err := filepath.EvalSymlinks(file)
	if err == nil {
		return filepath.Abs(target)
	}
	if _, lerr := os.Lstat(file); !errors.Is(lerr, fs.ErrNotExist) {
		return "", fmt.Errorf("config: %w", err) // a link that leads nowhere, or a folder that can't be entered
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	return absolute, nil
}

// replace writes a file beside the target and renames it onto the target. Info describes
// the file that is replaced, nil for none.
func replace(target string, text []byte, info fs.FileInfo) (err error) {
	dir := filepath.Dir(target)
	f, err := os.CreateTemp(dir, "."+filepath.Base(target)+".*")
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("config: %w", err)
		}
	}()
	if _, err = f.Write(text); err != nil {
		return err
	}
	if err = keepMode(f, info); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), target); err != nil {
		return err
	}
	syncFolder(dir)
	return nil
}

// keepMode gives a new file the mode and the owner of the one it replaces. Without one,
// the mode is 0600, as CreateTemp makes it.
func keepMode(f *os.File, info fs.FileInfo) error {
	if info == nil {
		return nil
	}
	keepOwner(f, info)
	return f.Chmod(info.Mode().Perm())
}

// syncFolder makes a rename last through a crash where the system can do that.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
