//go:build unix

package forgecmd

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// R-PROC-4: the first signal cancels the root context with itself as cause.
func TestSignals(t *testing.T) {
	ctx, stop := withSignals(context.Background())
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the context was not cancelled")
	}
	if sig, ok := errors.AsType[interrupted](context.Cause(ctx)); !ok || sig.signal != syscall.SIGTERM {
		t.Errorf("cause %v, want SIGTERM", context.Cause(ctx))
	}
}
