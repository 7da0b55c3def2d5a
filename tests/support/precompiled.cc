// SPDX-License-Identifier: Apache-2.0
// Nothing of its own: its precompiled headers are shared by the test programs.
