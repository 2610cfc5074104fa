"""What the doctor of a dialogue says, in every form that models give it."""
