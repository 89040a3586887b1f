//! What resources there are, and what their records hold.
