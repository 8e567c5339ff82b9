// Package proc starts child processes and brings them to an end. It is the only place of
// the module that does: whatever a child may have or do is decided by its [Spec].
//
// A peer that is a child process can be slow, stuck or hostile, and can have children of
// its own. os/exec leaves most of that to its user: it inherits the environment where none
// is named, signals the direct child alone, and waits for whoever holds a pipe.
//
//	child, err := proc.Start(proc.Spec{
//		Name: "research-tools",
//		Path: "/usr/local/bin/research-tools",
//		Args: []string{"--index", "./papers"},
//		Env:  []string{"PATH=/usr/bin", "TOKEN=" + token},
//		Secrets: []string{token},
//	})
//	if err != nil {
//		return err // a *StartError that says which of the usual reasons it was
//	}
//	defer child.Close()
//	child.Stdin().SetWriteDeadline(deadline)
//	fmt.Fprintln(child.Stdin(), request)
//	reply, err := bufio.NewReader(child.Stdout()).ReadString('\n')
//
// # The path of a child
//
// [Start] runs the file as it is named, without a shell, with exactly the given arguments
// and environment (none means none), in a process group of its own, with three pipes as
// its only descriptors. One goroutine keeps the end of its standard error. Another waits
// for its exit; when it has exited, whether by itself or by a signal, that goroutine
// kills the rest of the group and only then reaps it: an unreaped leader keeps its process
// id, and with it the id of the group, from being used again, so no signal can reach a
// stranger.
//
// [Process.Close] closes standard input, sends SIGTERM to the group after
// [EOFGrace], and SIGKILL after another [TermGrace]. It is back within [CloseLimit], at
// once where the child is. A descendant that left the group can't be reached by these
// signals; our ends of its pipes are closed all the same, so that nothing here waits for it,
// and the [Report] says that it is there. One that left the group and let go of the pipes
// goes unnoticed.
//
// # Concurrency
//
// Every method may be called from several goroutines. Close ends a Read or Write in progress.
//
// # Limits
//
// [StderrTail] bytes of standard error are kept. Close reads on at most [DrainLimit] bytes of
// standard output, so that a child that is stuck on a full pipe comes to its end.
//
// A death signal of the parent (Linux's Pdeathsig) is not set: it is tied to the thread that
// started the child, and fires when the runtime ends that thread. A child of a process
// that was killed sees the end of its standard input.
//
// On Windows, only the direct child is ended, and an escaped descendant isn't noticed.
package proc
